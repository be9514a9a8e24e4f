/** The stable id of a model: its name in lower case with hyphens, never a path. */
export function modelId(name: string): string {
  const id = name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}._]+/gu, '-')
    .replace(/^[-.]+|[-.]+$/g, '');
  return id === '' ? 'model' : id;
}
