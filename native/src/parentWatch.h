#pragma once

#include <cstdint>

namespace roomful {

/**
 * Ends this process as soon as process `parent` is gone, even while JavaScript is blocked; at once when it is gone
 * already. Call it from the main thread: on Linux the signal is tied to the thread of the parent that forked.
 */
void exitWithParent(int64_t parent);

}  // namespace roomful
