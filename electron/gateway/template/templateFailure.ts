/** Why a template gave no text. */
export class TemplateFailure extends Error {
  /** `broken`: it cannot be read. `refused`: its own error over these values. `runaway`: it took too long or too much. */
  readonly kind: 'broken' | 'refused' | 'runaway';

  constructor(kind: TemplateFailure['kind'], reason: string) {
    super(reason);
    this.name = 'TemplateFailure';
    this.kind = kind;
  }
}
