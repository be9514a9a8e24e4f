import { dialog } from 'electron';

export interface Question {
  message: string;
  detail: string;
  /** What the button that does it says. */
  action: string;
  /** What the other one says. */
  otherwise: string;
}

/** Asks a person; true for the action. Escape, Return and closing the box are the other answer. */
export async function ask({ message, detail, action, otherwise }: Question, signal?: AbortSignal): Promise<boolean> {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    title: 'Roomful',
    message,
    detail,
    buttons: [action, otherwise],
    defaultId: 1,
    cancelId: 1,
    noLink: true,
    ...(signal !== undefined && { signal }),
  });
  return response === 0;
}

/** Tells in a box what went wrong, in the one plain line of the error. */
export function reportFailure(error: unknown): void {
  dialog.showErrorBox('Roomful', error instanceof Error ? error.message : String(error));
}
