/** What the host of one chat template is told: the template, which is answered before it is read, and then what to render it with. */
export type TemplateOrder =
  | { source: string }
  /** `values`: JSON of its variables, which is copied quicker; `longest`: of the text, in UTF-16 units. */
  | { values: string; longest: number };

/** That the process runs, then one for each time that its template is to be rendered, in their order. */
export type TemplateAnswer = { kind: 'started' } | RenderAnswer;
export type RenderAnswer =
  | { kind: 'text'; text: string }
  /** `broken`: the template cannot be read. `refused`: it ended with an error over these values. */
  | { kind: 'broken' | 'refused'; reason: string };
