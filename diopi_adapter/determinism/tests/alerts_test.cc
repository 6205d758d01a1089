// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/determinism/alerts.h"

#include <gtest/gtest.h>

namespace dipu::determinism {
namespace {

std::string refusal(const std::string& text) {
  try {
    parseAlerts(text, "table.tsv");
  } catch (const TableError& error) {
    return error.what();
  }
  return "";
}

TEST(AlertsTest, AFunctionHasAReason) {
  const Alerts alerts = parseAlerts(
      "# a comment\n"
      "diopiCumsum\tfloating\tadds in any order\n"
      "diopiSort\tany\tequal elements change places",
      "table.tsv");
  ASSERT_EQ(alerts.size(), 2u);
  const Alert& sum = alerts.find("diopiCumsum")->second;
  EXPECT_EQ(sum.reason, "adds in any order");
  EXPECT_TRUE(sum.floating_only);
  const Alert& sort = alerts.find("diopiSort")->second;
  EXPECT_EQ(sort.reason, "equal elements change places");
  EXPECT_FALSE(sort.floating_only);
}

TEST(AlertsTest, AnEmptyTableHasNone) {
  EXPECT_TRUE(parseAlerts("", "table.tsv").empty());
  EXPECT_TRUE(parseAlerts("# nothing\n\n", "table.tsv").empty());
}

TEST(AlertsTest, MistakesAreToldWithTheirLine) {
  const std::string form =
      "a line has the function, 'any' or 'floating', and the reason, separated "
      "by tabs";
  EXPECT_EQ(refusal("\ndiopiSort\n"), "table.tsv:2: " + form);
  EXPECT_EQ(refusal("diopiSort\tany\n"), "table.tsv:1: " + form);
  EXPECT_EQ(refusal("\tany\twhy\n"), "table.tsv:1: " + form);
  EXPECT_EQ(refusal("diopiSort\tall\twhy\n"),
            "table.tsv:1: types are 'any' or 'floating', not 'all'");
  EXPECT_EQ(refusal("diopiSortt\tany\twhy\n"),
            "table.tsv:1: no function is called 'diopiSortt'");
  EXPECT_EQ(refusal("diopiSort\tany\twhy\ndiopiSort\tany\twhy\n"),
            "table.tsv:2: diopiSort has a line already");
}

}  // namespace
}  // namespace dipu::determinism
