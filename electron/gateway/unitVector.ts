/** The vector of length 1 (L2) in the same direction; one of zeros stays as it is. */
export function unitVector(values: Float32Array): Float32Array {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? values : values.map((value) => value / length);
}
