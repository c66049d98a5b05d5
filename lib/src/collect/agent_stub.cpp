#include <tally/agent.h>
namespace tally {
Result<std::unique_ptr<AgentSampler>> make_agent_sampler(SamplerOptions, std::string) { return fail(ErrorCode::unsupported, "no agent in this build"); }
std::string why_agent_cannot_load(const std::string &) { return {}; }
}
