import { create } from 'zustand';

interface Drafts {
  /** What is being written, by conversation. */
  written: Readonly<Record<string, string>>;
  /** The question that is being put in other words. */
  edited: { message: string; text: string } | null;
}

/** Texts that were not sent yet: they outlive a look at another page or conversation. */
export const useDrafts = create<Drafts>()(() => ({ written: {}, edited: null }));

export function write(conversation: string, text: string): void {
  useDrafts.setState(({ written: { [conversation]: _before, ...others } }) => ({
    written: text === '' ? others : { ...others, [conversation]: text },
  }));
}

export function edit(edited: Drafts['edited']): void {
  useDrafts.setState({ edited });
}
