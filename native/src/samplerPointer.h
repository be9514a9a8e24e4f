#pragma once

#include <memory>

#include "llamaApi.h"

namespace roomful {

struct FreeSampler {
  const LlamaApi* api;
  void operator()(llama_sampler* sampler) const { api->llama_sampler_free(sampler); }
};
using SamplerPointer = std::unique_ptr<llama_sampler, FreeSampler>;

}  // namespace roomful
