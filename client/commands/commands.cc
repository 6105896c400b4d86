// SPDX-License-Identifier: Apache-2.0
#include "client/commands/commands.h"

namespace stepcurve {
namespace {

constexpr char kSweeps[] = "Sweeps";
constexpr char kResults[] = "Results";
constexpr char kServer[] = "What the server has";
constexpr char kProgram[] = "This program";

constexpr Command kCommands[] = {
    {"submit", kSweeps, "Queue the trials of a sweep file",
     "  stepcurve submit fig1.yaml --dry-run     what it would queue and cost; queues nothing\n"
     "  stepcurve submit fig1.yaml               prints the new sweep's id; the same file again changes nothing\n"
     "  stepcurve submit fig1.yaml --wait        returns when the sweep has ended; exit 0 if no trial failed",
     &DefineSubmit},
    {"sweeps", kSweeps, "List sweeps, newest first",
     "  stepcurve sweeps --state active\n"
     "  stepcurve sweeps --tag paper --output csv",
     &DefineSweeps},
    {"show", kSweeps, "Show a sweep with its studies", "  stepcurve show fig1-fashion-cnn\n  stepcurve show 12",
     &DefineShow},
    {"watch", kSweeps, "Follow a sweep until it ends",
     "  stepcurve watch fig1-fashion-cnn         on a terminal redraws in place; otherwise a line a minute\n"
     "Survives a restart of the server. Exit 0 when the sweep is done without failed trials, 1 otherwise.",
     &DefineWatch},
    {"spec", kSweeps, "Print a sweep's file",
     "  stepcurve spec fig1-fashion-cnn > copy.yaml    edit, give it another name, submit\n"
     "  stepcurve spec fig1-fashion-cnn --resolved     what every distinct study came to",
     &DefineSpec},
    {"pause", kSweeps, "Hand out no more trials of a sweep",
     "  stepcurve pause fig1-fashion-cnn    running trials run on", &DefinePause},
    {"resume", kSweeps, "Hand out trials of a paused sweep again", "  stepcurve resume fig1-fashion-cnn",
     &DefineResume},
    {"cancel", kSweeps, "End a sweep at once",
     "  stepcurve cancel fig1-fashion-cnn    what was measured stays; there is no way back", &DefineCancel},
    {"trials", kResults, "List a sweep's trials with their parameters",
     "  stepcurve trials fig1 --batch-size 2048 --goal 'val/classification_error < 0.1' --sort steps --limit 5\n"
     "  stepcurve trials fig1 --state infeasible --output csv",
     &DefineTrials},
    {"trial", kResults, "Show a trial: parameters, seed, attempts, best values",
     "  stepcurve trial 1041\n  stepcurve trial 2048/88 --sweep fig1-fashion-cnn    batch size / number", &DefineTrial},
    {"measurements", kResults, "Print what was measured, step by step",
     "  stepcurve measurements 1041 > curve.csv\n"
     "  stepcurve measurements 2048/88 2048/3 --sweep fig1-fashion-cnn --metric val/classification_error",
     &DefineMeasurements},
    {"curve", kResults, "Print steps to result against batch size",
     "  stepcurve curve fashion_mnist/simple_cnn_base/sgd --goal 'val/classification_error < 0.1'\n"
     "  stepcurve curve WORKLOAD --goal 'val/loss < 0.1' --goal 'val/loss < 0.01' --output csv\n"
     "  stepcurve curve WORKLOAD --goal 'val/loss < 0.1' --sweep old --sweep new    a curve each; --pool for one",
     &DefineCurve},
    {"plot", kResults, "Draw steps to result against batch size",
     "  stepcurve plot steps WORKLOAD --goal 'val/loss < 0.01'                 in the terminal\n"
     "  stepcurve plot steps WORKLOAD --goal 'val/loss < 0.01' -o fig1.pdf     or .png, .svg\n"
     "  stepcurve plot steps WORKLOAD OTHER --goal 'val/loss < 0.01' -o fig4.png --script\n"
     "--script leaves fig4.gnuplot and fig4.dat beside it; --output csv prints the data instead.",
     &DefinePlot},
    {"workloads", kServer, "List workloads that have results", "  stepcurve workloads", &DefineWorkloads},
    {"workers", kServer, "List connected workers and those lost in the last day", "  stepcurve workers",
     &DefineWorkers},
    {"datasets", kServer, "List the data sets that sweeps may name", "  stepcurve datasets", &DefineDatasets},
    {"metaparameters", kServer, "List the metaparameters of a workload's optimizer",
     "  stepcurve metaparameters fashion_mnist/simple_cnn_base/nesterov_momentum", &DefineMetaparameters},
    {"completion", kProgram, "Print a completion script for a shell",
     "  source <(stepcurve completion bash)\n  stepcurve completion zsh > ~/.zfunc/_stepcurve", &DefineCompletion},
    {"version", kProgram, "Print this program's version", "  stepcurve version", &DefineVersion},
};

}  // namespace

absl::Span<const Command> Commands() { return kCommands; }

}  // namespace stepcurve
