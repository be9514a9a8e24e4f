#pragma once

namespace roomful {

/**
 * Asks Linux to put what lies in memory of this process in large blocks into huge pages: a step reads all weights once, and with
 * pages of 4 KiB looking addresses up takes up to a sixth of it. Does nothing where the kernel has none to give, or elsewhere.
 */
void useHugePages();

}  // namespace roomful
