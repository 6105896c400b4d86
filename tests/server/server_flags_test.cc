// SPDX-License-Identifier: Apache-2.0
#include "server/server_flags.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/listen_address.h"
#include "server/port_file.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

struct Conninfo {
  const char* name;
  const char* text;
  bool carries;
};

class CarriesPasswordTest : public ::testing::TestWithParam<Conninfo> {};

TEST_P(CarriesPasswordTest, SeesIt) { EXPECT_EQ(CarriesPassword(GetParam().text), GetParam().carries); }

INSTANTIATE_TEST_SUITE_P(All, CarriesPasswordTest,
                         ::testing::Values(Conninfo{"Empty", "", false},
                                           Conninfo{"Keywords", "host=db dbname=x user=y", false},
                                           Conninfo{"Keyword", "host=db password=secret", true},
                                           Conninfo{"KeywordWithSpaces", "host=db password = secret", true},
                                           Conninfo{"OfTheKey", "host=db sslpassword=secret", true},
                                           Conninfo{"OnlyAName", "host=db dbname=password", false},
                                           Conninfo{"Passfile", "host=db passfile=/etc/pgpass", false},
                                           Conninfo{"Uri", "postgresql://user@db:5432/x", false},
                                           Conninfo{"UriWithoutUser", "postgresql://db:5432/x", false},
                                           Conninfo{"InUri", "postgresql://user:secret@db/x", true},
                                           Conninfo{"InUriWithoutPath", "postgres://user:secret@db", true},
                                           Conninfo{"AsUriParameter", "postgresql://db/x?password=secret", true}),
                         [](const auto& info) { return info.param.name; });

struct Listen {
  const char* name;
  const char* address;
};

class WrongListenTest : public ::testing::TestWithParam<Listen> {};

TEST_P(WrongListenTest, IsNamed) {
  EXPECT_THAT(CheckListenAddress(GetParam().address),
              Fails(absl::StatusCode::kInvalidArgument, std::string("--listen is \"") + GetParam().address + "\""));
}

INSTANTIATE_TEST_SUITE_P(All, WrongListenTest,
                         ::testing::Values(Listen{"Word", "nonsense"}, Listen{"NoHost", ":7070"},
                                           Listen{"NoPort", "127.0.0.1:"}, Listen{"LargePort", "127.0.0.1:70000"},
                                           Listen{"PortName", "127.0.0.1:http"}, Listen{"BareIPv6", "::1:0"},
                                           Listen{"AnotherMachine", "192.0.2.1:0"},
                                           Listen{"NoSuchName", "no-such-host.invalid:0"}),
                         [](const auto& info) { return info.param.name; });

TEST(CheckListenAddressTest, TakesAnyFreePort) { EXPECT_THAT(CheckListenAddress("127.0.0.1:0"), IsOk()); }

TEST(WritePortFileTest, WritesOneLineOrSaysWhyNot) {
  const std::string path = ::testing::TempDir() + "/port_file_test";
  ASSERT_THAT(WritePortFile(path, 4711), IsOk());
  std::string line;
  ASSERT_TRUE(std::getline(std::ifstream(path), line));
  EXPECT_EQ(line, "4711");
  EXPECT_THAT(WritePortFile("/nowhere/port", 1), Fails(absl::StatusCode::kInvalidArgument, "/nowhere/port"));
}

}  // namespace
}  // namespace stepcurve
