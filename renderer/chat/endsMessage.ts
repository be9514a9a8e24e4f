import type { KeyboardEvent } from 'react';

/** Whether a key sends what was written: Enter does, Shift+Enter begins a line, and the Enter of an input method chooses a word. */
export function endsMessage({ key, shiftKey, nativeEvent }: KeyboardEvent): boolean {
  return key === 'Enter' && !shiftKey && !nativeEvent.isComposing;
}
