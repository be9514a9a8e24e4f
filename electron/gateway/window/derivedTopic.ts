import type { TopicSource } from './memberState.ts';

/**
 * A topic whose value is worked out anew when anything may have changed; listeners hear of it only where it is another one.
 * `onChange` calls its listener after every change of what `read` looks at, until the function that it returns is called.
 */
export function derivedTopic<V>(read: () => V, onChange: (listener: () => void) => () => void): TopicSource<V> {
  return {
    get value() {
      return read();
    },
    onChange(listener) {
      let last = JSON.stringify(read());
      return onChange(() => {
        const value = read();
        const text = JSON.stringify(value);
        if (text === last) return;
        last = text;
        listener(value);
      });
    },
  };
}
