// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/plot/gnuplot.h"
#include "client/plot/gnuplot_script.h"
#include "client/plot/plot_data.h"
#include "client/plot/text_plot.h"
#include "tests/client/sample.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Slurp(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

v1::Curve Renamed(const std::string& workload) {
  v1::Curve curve = SampleCurve();
  curve.set_workload(workload);
  return curve;
}

TEST(PlotDataTest, AnchorsPerfectScalingAtTheSmallestReachedBatchSize) {
  v1::Curve curve = SampleCurve();
  curve.mutable_points(0)->set_status(v1::CurvePoint::NOT_REACHED);
  const StepsPlot plot = MakeStepsPlot({curve});
  ASSERT_NE(plot.series[0].Anchor(), nullptr);
  EXPECT_EQ(plot.series[0].Anchor()->batch_size, 512);
  EXPECT_EQ(plot.series[0].Perfect(512), 302);
  EXPECT_EQ(plot.series[0].Perfect(2048), 75.5);
  // Its place on the axis is kept.
  EXPECT_EQ(plot.series[0].points[0].batch_size, 2);
  EXPECT_LT(plot.x_min, 2);
}

TEST(PlotDataTest, LeavesOutWhatWasReachedAtStepZero) {
  v1::Curve curve = SampleCurve();
  curve.mutable_points(0)->set_steps(0);
  const StepsPlot plot = MakeStepsPlot({curve});
  EXPECT_EQ(plot.series[0].points[0].batch_size, 512);
  EXPECT_GT(plot.y_min, 0);
}

TEST(PlotDataTest, TitlesSayWhatIsCommonAndLabelsWhatIsNot) {
  const StepsPlot one = MakeStepsPlot({SampleCurve()});
  EXPECT_EQ(one.title, "fashion_mnist/simple_cnn_base/sgd   val/classification_error < 0.1");
  EXPECT_EQ(
      one.subtitle,
      "sweep fig1   semantics published   first 100 trials of each study   space 9f3a (2 dims)   grid geometric 1.05");
  EXPECT_EQ(one.series[0].label, "measured");

  const StepsPlot several = MakeStepsPlot({Renamed("mnist/fc_128/sgd"), Renamed("mnist/fc_1024/sgd")});
  EXPECT_EQ(several.title, "mnist/*/sgd   val/classification_error < 0.1");
  EXPECT_EQ(several.series[0].label, "fc_128");
  EXPECT_EQ(several.series[1].label, "fc_1024");

  const StepsPlot groups = MakeStepsPlot({Renamed("mnist/fc/sgd"), Renamed("group/mnist/fc/sgd")});
  EXPECT_EQ(groups.series[1].label, "group/mnist/fc/sgd");

  v1::Curve harder = SampleCurve();
  harder.mutable_goal()->set_threshold(0.08);
  harder.set_sweeps(0, "fig2");
  const StepsPlot goals = MakeStepsPlot({SampleCurve(), harder});
  EXPECT_EQ(goals.title, "fashion_mnist/simple_cnn_base/sgd");
  EXPECT_EQ(goals.series[1].label, "val/classification_error < 0.08, sweep fig2");
}

TEST(PlotDataTest, PrintsItsDataAsRows) {
  std::ostringstream out;
  PrintPlotRows(MakeStepsPlot({SampleCurve()}), Format::kCsv, &out);
  EXPECT_THAT(out.str(), HasSubstr("val/classification_error < 0.1,fig1,512,302,287,84.703125\n"));
  EXPECT_THAT(out.str(), HasSubstr("val/classification_error < 0.1,fig1,55000,,,\n"));
}

TEST(GnuplotScriptTest, DataHasBracketsAndUnreachedBatchSizes) {
  const std::string data = GnuplotData(MakeStepsPlot({SampleCurve()}));
  EXPECT_THAT(data, HasSubstr("\n2 21684 20651 21684 21684\n512 302 287 302 84.703125\n"));
  EXPECT_THAT(data, HasSubstr("# batch sizes that did not reach the goal\n32768\n55000\n"));
}

TEST(GnuplotScriptTest, NeverRunsWhatNamesContain) {
  const absl::StatusOr<std::string> script =
      GnuplotScript(MakeStepsPlot({Renamed("a'b`touch x`/\"c\\n/d")}), "it's.png", "it's.dat");
  ASSERT_TRUE(script.ok());
  EXPECT_THAT(*script, HasSubstr("set output 'it''s.png'"));
  EXPECT_THAT(*script, HasSubstr("'a''b`touch x`/\"c\\n/d "));
}

class PictureTest : public ::testing::TestWithParam<std::string> {
 protected:
  PictureTest() {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("stepcurve_plot it's_" + GetParam());
    std::filesystem::create_directories(folder_);
  }
  ~PictureTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_P(PictureTest, IsDrawnWithItsScriptAndDataBesideIt) {
  const std::filesystem::path file = folder_ / ("fig_1." + GetParam());
  const StepsPlot plot = MakeStepsPlot({SampleCurve(), Renamed("mnist/fc_1024/sgd")});
  const absl::Status status = DrawPicture(plot, {.file = file.string(), .script = true});
  ASSERT_TRUE(status.ok()) << status;
  const std::string picture = Slurp(file);
  const std::string magic = GetParam() == "png" ? "\x89PNG" : GetParam() == "pdf" ? "%PDF" : "<?xml";
  EXPECT_THAT(picture.substr(0, 8), StartsWith(magic));
  // The script draws the same again where it lies.
  std::filesystem::remove(file);
  EXPECT_EQ(std::system(("cd \"" + folder_.string() + "\" && gnuplot fig_1.gnuplot").c_str()), 0);
  EXPECT_EQ(Slurp(file).size(), picture.size());
}

INSTANTIATE_TEST_SUITE_P(All, PictureTest, ::testing::Values("png", "svg", "pdf"),
                         [](const auto& info) { return info.param; });

TEST(DrawPictureTest, SaysWhatStandsInTheWay) {
  const StepsPlot plot = MakeStepsPlot({SampleCurve()});
  const std::string file = ::testing::TempDir() + "stepcurve_never.png";
  const absl::Status missing = DrawPicture(plot, {.file = file, .program = "no-such-gnuplot"});
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("apt install gnuplot-nox"));
  EXPECT_EQ(DrawPicture(plot, {.file = file, .program = "false"}).code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THAT(std::string(DrawPicture(plot, {.file = "fig.gif"}).message()), HasSubstr(".png, .svg or .pdf"));
  EXPECT_THAT(std::string(DrawPicture(plot, {.file = "/nowhere/fig.png"}).message()),
              HasSubstr("cannot write /nowhere/fig.png"));
}

TEST(DrawPictureTest, DrawsACurveThatNothingReached) {
  v1::Curve curve = SampleCurve();
  for (v1::CurvePoint& point : *curve.mutable_points()) point.set_status(v1::CurvePoint::NOT_REACHED);
  const std::string file = ::testing::TempDir() + "stepcurve_unreached.svg";
  const absl::Status status = DrawPicture(MakeStepsPlot({curve}), {.file = file});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Slurp(file), HasSubstr("no batch size reached the goal"));
  std::filesystem::remove(file);
}

TEST(TextPlotTest, FitsTheTerminal) {
  const StepsPlot plot = MakeStepsPlot({SampleCurve(), Renamed("mnist/fc/sgd")});
  for (const auto& [columns, rows] : {std::pair(80, 24), std::pair(120, 40), std::pair(60, 16)}) {
    const std::string text = TextPlot(plot, columns, rows);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), rows);
    std::istringstream lines(text);
    std::string line;
    // But for the headings, which may wrap.
    for (int i = 0; std::getline(lines, line); ++i)
      EXPECT_TRUE(i < 2 || static_cast<int>(line.size()) <= columns) << line;
  }
}

TEST(TextPlotTest, DrawsEveryPoint) {
  EXPECT_EQ(TextPlot(MakeStepsPlot({SampleCurve()}), 80, 24),
            R"(fashion_mnist/simple_cnn_base/sgd   val/classification_error < 0.1
sweep fig1   semantics published   first 100 trials of each study   space 9f3a (2 dims)   grid geometric 1.05
    steps against batch size
          |
          |  A\
   16,384 +    --\
          |      .--\
    8,192 +        ..--\
          |          .. -\
    4,096 +            ...--\
          |               .. --\
    2,048 +                 ..  --\
          |                   ..   --\
    1,024 +                     ..    --\
          |                       ...    -\
      512 +                          ..    --\
          |                            ..     --A-------A-\
      256 +                              ..                ----\
          |                                ..                   -A
      128 +                                  ..                           x  x
          +------+--------+--------+-------+--------+--------+-------+--------+-
                 4       16       64      256     1024     4096    16384   65536
  A measured   . perfect scaling   x goal not reached
)");
}

}  // namespace
}  // namespace stepcurve
