import { callMember, useMember } from '../member/memberStore.ts';
import { createChat } from './createChat.ts';
import { streamChat } from './streamChat.ts';

/** The chat of this window. */
export const chat = createChat({
  call: callMember,
  stream: streamChat,
  servedBy: (model) => {
    const pipelines = (useMember.getState().member?.pipelines ?? []).filter(({ modelId }) => modelId === model);
    const members = pipelines.flatMap(({ placement }) => placement.map(({ member }) => member));
    const acceptances = pipelines.flatMap(({ figures }) => figures?.acceptance ?? []);
    return { members: [...new Set(members)], acceptance: acceptances[0] ?? null };
  },
  now: Date.now,
  newId: () => crypto.randomUUID(),
  nextFrame: (callback) => requestAnimationFrame(callback),
});

export const { useChat } = chat;
