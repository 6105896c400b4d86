# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ file that holds the text of MIGRATIONS (paths without .up.sql and .down.sql, oldest first).
set(code "// Made by embed_migrations.cmake.\n#include \"server/store/migrations.h\"\n\nnamespace stepcurve {\n\n")
string(APPEND code "absl::Span<const Migration> Migrations() {\n  static constexpr Migration kMigrations[] = {\n")
foreach(path ${MIGRATIONS})
  get_filename_component(name ${path} NAME)
  string(REGEX MATCH "^[0-9]+" number ${name})
  math(EXPR version "1${number} - 10000")
  # `file(READ)` would drop brackets and semicolons in lists; a string it keeps whole.
  file(READ ${path}.up.sql up)
  file(READ ${path}.down.sql down)
  string(APPEND code "      {${version}, \"${name}\", R\"sql(${up})sql\", R\"sql(${down})sql\"},\n")
endforeach()
string(APPEND code "  };\n  return kMigrations;\n}\n\n}  // namespace stepcurve\n")
file(WRITE ${OUTPUT} "${code}")
