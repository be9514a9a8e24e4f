import { useState } from 'react';
import { useShallow } from 'zustand/react/shallow';
import { Empty } from '../controls/Empty.tsx';
import { saveFile } from '../controls/saveFile.ts';
import { useMember } from '../member/memberStore.ts';
import { Page } from '../shell/Page.tsx';
import { hrefOf } from '../shell/route.ts';
import { ChatSettingsPanel } from './ChatSettingsPanel.tsx';
import { Composer } from './Composer.tsx';
import { ConversationList } from './ConversationList.tsx';
import { chat, useChat } from './chat.ts';
import { chatModels } from './chatModels.ts';
import { chatAsMarkdown } from './exportChat.ts';
import { Thread } from './Thread.tsx';
import './Chat.css';

const suggestion = 'What is a hop?';

/** Conversations with whatever serves, kept on this machine. */
export function ChatPage() {
  const models = useServing();
  const chosen = useChat((store) => store.shown.model);
  const problem = useChat((store) => store.problem);
  const [settings, setSettings] = useState(false);
  const id = useChat((store) => store.shown.id);
  const model = models.find((each) => each === chosen) ?? models[0] ?? null;
  return (
    <Page
      title="Chat"
      actions={<ChatActions models={models} model={model} settings={settings} onSettings={setSettings} />}
      fills
    >
      <div className="chat-columns">
        <ConversationList />
        <section className="chat" aria-label="Chat">
          {problem !== null && (
            <p className="notice" data-tone="problem" role="alert">
              {problem}
            </p>
          )}
          {settings && <ChatSettingsPanel key={id} />}
          <ChatBody model={model} />
          <Composer model={model} />
        </section>
      </div>
    </Page>
  );
}

/** Models that can be asked now. */
function useServing(): string[] {
  return useMember(useShallow(({ member }) => chatModels(member?.pipelines ?? [])));
}

interface ChatActionsProps {
  models: readonly string[];
  model: string | null;
  settings: boolean;
  onSettings: (shown: boolean) => void;
}

function ChatActions({ models, model, settings, onSettings }: ChatActionsProps) {
  const empty = useChat((store) => store.shown.history.length === 0);
  return (
    <>
      {model !== null && (
        <select
          className="select chat-model"
          aria-label="Model"
          value={model}
          onChange={(event) => void chat.chooseModel(event.target.value)}
        >
          {models.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      )}
      <button type="button" className="quiet-button" aria-pressed={settings} onClick={() => onSettings(!settings)}>
        Settings
      </button>
      <button type="button" className="quiet-button" disabled={empty} onClick={exportShown}>
        Export
      </button>
    </>
  );
}

function exportShown(): void {
  const { shown } = useChat.getState();
  const name = shown.title.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60);
  saveFile(`${name || 'chat'}.md`, chatAsMarkdown(shown), 'text/markdown');
}

function ChatBody({ model }: { model: string | null }) {
  const empty = useChat((store) => store.shown.history.length === 0);
  if (!empty) return <Thread model={model} />;
  if (model === null) {
    return (
      <Empty icon="chat" title="No model is serving yet">
        <p>As soon as one serves, you can talk to it here. Chats that you had are on the left.</p>
        <a className="quiet-button" href={hrefOf('models')}>
          Choose a model
        </a>
      </Empty>
    );
  }
  return (
    <div className="chat-empty">
      <p>
        Ask <strong>{model}</strong> anything. Nothing leaves the members that serve it.
      </p>
      <button type="button" className="suggestion" onClick={() => void chat.ask(model, suggestion)}>
        {suggestion}
      </button>
    </div>
  );
}
