/** Looks until `look` no longer throws, and answers what it found; after half a minute throws what it threw. */
export async function eventually<T>(look: () => T | Promise<T>): Promise<T> {
  for (let left = 600; ; left -= 1) {
    try {
      return await look();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
