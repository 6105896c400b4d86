// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/commands/commands.h"

namespace stepcurve {
namespace {

// "--goal --sweep -o" of one parser.
std::vector<std::string> OptionNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(absl::StrCat("--", name));
    for (const std::string& name : option->get_snames()) names.push_back(absl::StrCat("-", name));
  }
  return names;
}

// What may follow each command, as branches of a shell's `case`.
std::string Branches(const CLI::App* root, absl::string_view line) {
  std::string branches;
  for (const CLI::App* command : root->get_subcommands({})) {
    std::vector<std::string> words = OptionNames(command);
    if (command->get_name() == "plot") words.push_back("steps");
    if (command->get_name() == "completion") words.insert(words.end(), {"bash", "zsh"});
    absl::StrAppend(&branches, "    ", command->get_name(), ") ",
                    absl::StrReplaceAll(line, {{"WORDS", absl::StrJoin(words, " ")}}), " ;;\n");
  }
  return branches;
}

std::string CommandNames(const CLI::App* root) {
  return absl::StrJoin(root->get_subcommands({}), " ",
                       [](std::string* out, const CLI::App* command) { out->append(command->get_name()); });
}

// Both scripts find the command as the first word that is neither an option nor a global option's value.
constexpr char kBash[] = R"sh(_stepcurve() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words= i
  case $previous in
    --output) COMPREPLY=($(compgen -W "table json csv" -- "$current")); return ;;
    --semantics) COMPREPLY=($(compgen -W "published reached" -- "$current")); return ;;
    --include) COMPREPLY=($(compgen -W "incomplete infeasible running" -- "$current")); return ;;
    --server | --goal | --metric | --tag | --request-id | --limit | --trials | --batch-size) return ;;
    -o) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --server | --output) ((i++)) ;;
      -*) ;;
      *) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  case $command in
    "") words="COMMANDS GLOBALS" ;;
BRANCHES  esac
  COMPREPLY=($(compgen -W "$words GLOBALS" -- "$current"))
  if [[ $command == submit && $current != -* ]]; then
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -o bashdefault -F _stepcurve stepcurve
)sh";

constexpr char kZsh[] = R"sh(#compdef stepcurve
_stepcurve() {
  local command="" i previous=${words[CURRENT-1]}
  local -a candidates
  case $previous in
    --output) compadd -- table json csv; return ;;
    --semantics) compadd -- published reached; return ;;
    --include) compadd -- incomplete infeasible running; return ;;
    --server | --goal | --metric | --tag | --request-id | --limit | --trials | --batch-size) return ;;
    -o) _files; return ;;
  esac
  for ((i = 2; i < CURRENT; i++)); do
    case ${words[i]} in
      --server | --output) ((i++)) ;;
      -*) ;;
      *) command=${words[i]}; break ;;
    esac
  done
  case $command in
    "") candidates=(COMMANDS) ;;
BRANCHES  esac
  compadd -- $candidates GLOBALS
  [[ $command == submit ]] && _files
}
if [[ $funcstack[1] == _stepcurve ]]; then
  _stepcurve "$@"
elif (( $+functions[compdef] )); then
  compdef _stepcurve stepcurve
fi
)sh";

std::string Script(const CLI::App* root, const std::string& shell) {
  const bool bash = shell == "bash";
  return absl::StrReplaceAll(bash ? kBash : kZsh,
                             {{"BRANCHES", Branches(root, bash ? "words=\"WORDS\"" : "candidates=(WORDS)")},
                              {"COMMANDS", CommandNames(root)},
                              {"GLOBALS", absl::StrJoin(OptionNames(root), " ")}});
}

}  // namespace

Action DefineCompletion(CLI::App* app) {
  const auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash or zsh")->required()->check(OneOf({"bash", "zsh"}));
  return [app, shell](Session& session) -> absl::StatusOr<ExitStatus> {
    session.out() << Script(app->get_parent(), *shell);
    return ExitStatus::kDone;
  };
}

Action DefineVersion(CLI::App*) {
  return [](Session& session) -> absl::StatusOr<ExitStatus> {
    if (session.format() == Format::kTable) {
      session.out() << "stepcurve " << STEPCURVE_VERSION << "\n";
    } else {
      RowPrinter(session.format(), {{"version"}}, &session.out()).Print({{Cell::Text(STEPCURVE_VERSION)}});
    }
    return ExitStatus::kDone;
  };
}

}  // namespace stepcurve
