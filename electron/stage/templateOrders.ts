/** What the host of one chat template is told: the template, which has no answer, and then what to render it with. */
export type TemplateOrder =
  | { source: string }
  /** `values`: JSON of its variables, which is copied quicker; `longest`: of the text, in UTF-16 units. */
  | { values: string; longest: number };

/** One for each time that it is to be rendered, in their order. */
export type RenderAnswer =
  | { kind: 'text'; text: string }
  /** `broken`: the template cannot be read. `refused`: it ended with an error over these values. */
  | { kind: 'broken' | 'refused'; reason: string };
