/** An input that the planner refuses. `field` is its path, such as `members[2].memoryBytes`. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field} ${problem}`);
    this.field = field;
  }
}
