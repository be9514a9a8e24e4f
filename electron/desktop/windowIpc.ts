import { type IpcMainEvent, ipcMain, type WebContents } from 'electron';
import type { MemberApi } from '../gateway/memberApi.ts';
import { openWindowSession, WindowMessageError, type WindowSession } from '../gateway/window/windowSession.ts';
import { originOf } from './guardContents.ts';
import { ipcChannels } from './ipcChannels.ts';

/**
 * Carries the contract of gateway/memberApi.ts over IPC. Only the main frame of a page of `origin` is heard; every other
 * sender, and every message that is not of the contract, is passed over.
 */
export function serveWindowOverIpc(api: MemberApi, origin: string): void {
  const sessions = new WeakMap<WebContents, WindowSession>();
  ipcMain.on(ipcChannels.toMember, (event, message: unknown) => {
    if (!isTrusted(event, origin)) return;
    let session = sessions.get(event.sender);
    if (session === undefined) {
      session = openSession(event.sender, api, () => sessions.delete(event.sender));
      sessions.set(event.sender, session);
    }
    try {
      session.receive(message);
    } catch (error) {
      if (!(error instanceof WindowMessageError)) throw error;
    }
  });
}

function openSession(contents: WebContents, api: MemberApi, onClosed: () => void): WindowSession {
  const session = openWindowSession(api, (message) => {
    if (!contents.isDestroyed()) contents.send(ipcChannels.toWindow, message);
  });
  const close = () => {
    contents.off('did-start-navigation', onNavigation);
    contents.off('render-process-gone', close);
    contents.off('destroyed', close);
    session.close();
    onClosed();
  };
  const onNavigation = (details: { isMainFrame: boolean; isSameDocument: boolean }) => {
    if (details.isMainFrame && !details.isSameDocument) close();
  };
  contents.on('did-start-navigation', onNavigation);
  contents.on('render-process-gone', close);
  contents.on('destroyed', close);
  return session;
}

function isTrusted({ sender, senderFrame }: IpcMainEvent, origin: string): boolean {
  return senderFrame !== null && senderFrame === sender.mainFrame && originOf(senderFrame.url) === origin;
}
