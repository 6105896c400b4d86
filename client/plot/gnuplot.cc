// SPDX-License-Identifier: Apache-2.0
#include "client/plot/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/plot/gnuplot_script.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

namespace fs = std::filesystem;

absl::Status WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out.fail()) return absl::InvalidArgumentError(absl::StrCat("cannot write ", path.string()));
  return absl::OkStatus();
}

// Runs `program script` in `folder`; what it says lands in `folder`/messages.
absl::Status Run(const std::string& program, const std::string& script, const fs::path& folder) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&] { posix_spawn_file_actions_destroy(&actions); };
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "messages", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::string argument = script;
  std::string name = program;
  char* const arguments[] = {name.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  if (error == ENOENT) {
    return absl::NotFoundError(absl::StrCat("there is no ", program,
                                            ", which draws the pictures; install it (apt install gnuplot-nox), or "
                                            "plot in the terminal, without -o"));
  }
  if (error != 0) return absl::InternalError(absl::StrCat("cannot run ", program, ": ", strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  std::stringstream said;
  said << std::ifstream(folder / "messages").rdbuf();
  std::string text = said.str();
  absl::StripAsciiWhitespace(&text);
  return absl::InternalError(absl::StrCat(program, " failed: ", absl::StrReplaceAll(text, {{"\n", " "}})));
}

absl::Status Copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("cannot write ", to.string(), ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace

absl::Status DrawPicture(const StepsPlot& plot, const PictureOptions& options) {
  const fs::path picture(options.file);
  const std::string name = picture.filename().string();
  const std::string data_name = picture.stem().string() + ".dat";
  const std::string script_name = picture.stem().string() + ".gnuplot";
  STEPCURVE_ASSIGN_OR_RETURN(const std::string script, GnuplotScript(plot, name, data_name));

  std::string folder_name = (fs::temp_directory_path() / "stepcurve-plot.XXXXXX").string();
  if (mkdtemp(folder_name.data()) == nullptr) {
    return absl::InternalError(absl::StrCat("cannot make ", folder_name, ": ", strerror(errno)));
  }
  const fs::path folder(folder_name);
  const absl::Cleanup remove = [&] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  };
  STEPCURVE_RETURN_IF_ERROR(WriteFile(folder / data_name, GnuplotData(plot)));
  STEPCURVE_RETURN_IF_ERROR(WriteFile(folder / script_name, script));
  STEPCURVE_RETURN_IF_ERROR(Run(options.program, script_name, folder));
  STEPCURVE_RETURN_IF_ERROR(Copy(folder / name, picture));
  if (!options.script) return absl::OkStatus();
  STEPCURVE_RETURN_IF_ERROR(Copy(folder / data_name, fs::path(picture).replace_extension(".dat")));
  return Copy(folder / script_name, fs::path(picture).replace_extension(".gnuplot"));
}

}  // namespace stepcurve
