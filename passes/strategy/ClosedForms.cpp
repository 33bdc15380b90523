#include "passes/strategy/ClosedForms.h"

#include <algorithm>

namespace tandem {
namespace {

double workOf(const StageTimes &times) {
  return times.forward + times.backward + times.weight;
}

} // namespace

std::optional<double>
ClosedForm::bubble(const UniformPipeline &pipeline) const {
  if (!idle)
    return std::nullopt;
  double work = static_cast<double>(pipeline.microbatches) *
                static_cast<double>(pipeline.virtualStages) *
                workOf(pipeline.times);
  return *idle + work > 0 ? *idle / (*idle + work) : 0;
}

std::optional<double> flushIdle(const UniformPipeline &pipeline) {
  return static_cast<double>(pipeline.coordinates - 1) * workOf(pipeline.times);
}

std::optional<double> interleavedIdle(const UniformPipeline &pipeline) {
  int64_t lacking =
      std::max<int64_t>(0, pipeline.coordinates - pipeline.microbatches);
  return static_cast<double>(pipeline.coordinates - 1 +
                             (pipeline.virtualStages - 1) * lacking) *
         workOf(pipeline.times);
}

std::optional<double> zeroBubbleIdle(const UniformPipeline &pipeline) {
  const StageTimes &t = pipeline.times;
  if (t.weight > std::min(t.forward, t.backward))
    return std::nullopt;
  int64_t delayed = std::min(pipeline.coordinates, pipeline.microbatches);
  return static_cast<double>(pipeline.coordinates - 1) *
             (t.forward + t.backward) -
         static_cast<double>(delayed - 1) * t.weight;
}

std::optional<double> waveIdle(const UniformPipeline &pipeline) {
  const StageTimes &t = pipeline.times;
  if (t.forward != t.backward || t.backward != t.weight)
    return std::nullopt;
  int64_t p = pipeline.coordinates, m = pipeline.microbatches;
  return static_cast<double>(
             std::max({p - 1, 3 * p - 1 - 2 * m, 4 * p - 1 - 4 * m})) *
         t.forward;
}

int64_t allInFlight(const UniformPipeline &pipeline, int64_t) {
  return pipeline.microbatches;
}

int64_t warmInFlight(const UniformPipeline &pipeline, int64_t coordinate) {
  return std::min(pipeline.microbatches, pipeline.coordinates - coordinate);
}

int64_t interleavedInFlight(const UniformPipeline &pipeline,
                            int64_t coordinate) {
  int64_t p = pipeline.coordinates, v = pipeline.virtualStages;
  int64_t group = interleavedGroups(p, pipeline.microbatches)[0];
  return std::min(v * pipeline.microbatches,
                  (v - 1) * group + 2 * (p - 1 - coordinate) + 1);
}

int64_t fullInFlight(const UniformPipeline &pipeline, int64_t) {
  return pipeline.virtualStages *
         std::min(pipeline.microbatches, pipeline.coordinates);
}

} // namespace tandem
