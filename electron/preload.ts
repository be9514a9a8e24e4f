import { contextBridge, ipcRenderer, webUtils } from 'electron';
import { ipcChannels } from './desktop/ipcChannels.ts';
import type { MemberBridge, MemberMessage } from './gateway/memberApi.ts';

/** Gives the page the member's contract and nothing else: no channel name, no event, no Node. */
const bridge: MemberBridge = {
  send: (message) => ipcRenderer.send(ipcChannels.toMember, message),
  onMessage: (listener) => {
    ipcRenderer.on(ipcChannels.toWindow, (_event, message: MemberMessage) => listener(message));
  },
  pathOf: (file) => webUtils.getPathForFile(file as File),
};

contextBridge.exposeInMainWorld('roomful', bridge);
