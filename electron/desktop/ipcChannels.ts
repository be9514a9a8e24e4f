/** The two channels between main process and page; both carry the messages of gateway/memberApi.ts. */
export const ipcChannels = { toMember: 'roomful:to-member', toWindow: 'roomful:to-window' } as const;
