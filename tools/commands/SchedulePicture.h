//===- SchedulePicture.h - A schedule's timeline to look at -----*- C++ -*-===//
//
// One row a coordinate, time to the right. In text
//
//   0  F0 F1 ..... B0=== F2 B1=== .. B2===
//   1  .. F0 B0=== F1 B1=== F2 B2=== .....
//
// an action has its letter and microbatch, `=` while a backward goes on (`-` a
// forward, `+` a weight action), and dots are waits. Of several stages on a
// coordinate the first is marked a, the second b. The SVG has a box an action.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TOOLS_COMMANDS_SCHEDULEPICTURE_H
#define TANDEM_TOOLS_COMMANDS_SCHEDULEPICTURE_H

#include "passes/strategy/ScheduleTimeline.h"

namespace tandem {

/// What is drawn; all of it outlives the call.
struct ScheduleScene {
  std::string title;
  const PipelineSchedule &pipeline;
  const Timeline &timeline;

  /// `F3`, `B3b`.
  std::string labelOf(const ScheduleAction &action) const;
  /// Which of its coordinate's stages a stage is.
  int64_t turnOf(int64_t stage) const;
  /// The shortest action that takes time, 1 where none does.
  double shortest() const;
};

struct PictureStyle {
  bool colour = false;
  int64_t width = 0; ///< Longer rows go on below; 0: none does.
};

std::string textPicture(const ScheduleScene &scene, const PictureStyle &style);
/// Readable on white and on black, in one file.
std::string svgPicture(const ScheduleScene &scene);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_SCHEDULEPICTURE_H
