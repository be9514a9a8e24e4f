import { callMember, useMember } from '../member/memberStore.ts';
import { createChat } from './createChat.ts';
import { streamChat } from './streamChat.ts';

/** The chat of this window. */
export const chat = createChat({
  call: callMember,
  stream: streamChat,
  membersOf: (model) => {
    const { pipelines = [] } = useMember.getState().member ?? {};
    const members = pipelines.filter(({ modelId }) => modelId === model).flatMap(({ placement }) => placement);
    return [...new Set(members.map(({ member }) => member))];
  },
  now: Date.now,
  newId: () => crypto.randomUUID(),
  nextFrame: (callback) => requestAnimationFrame(callback),
});

export const { useChat } = chat;
