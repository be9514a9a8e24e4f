import { type ChangeEvent, useId, useState } from 'react';
import { CopyButton } from '../controls/CopyButton.tsx';
import { Dialog } from '../controls/Dialog.tsx';
import { lineOf } from '../controls/lineOf.ts';
import { saveFile } from '../controls/saveFile.ts';
import { open, usePlayground } from './playgroundStore.ts';
import { readShared, scenarioFragment, scenarioText } from './scenario/sharedScenario.ts';

/** Gives the room and its plan to others, as a link or a file, and opens what others gave. */
export function ShareDialog({ onClose }: { onClose: () => void }) {
  const scenario = usePlayground(({ history }) => history.present);
  const link = `${window.location.origin}/${scenarioFragment(scenario)}`;
  return (
    <Dialog title="Share this plan" onClose={onClose}>
      <p className="quiet">
        The link holds the whole room. Send it to a colleague, who opens it here under “Open a shared plan”.
      </p>
      <div className="copy-row">
        <code className="share-link">{link}</code>
        <CopyButton what="the link" text={link} />
      </div>
      <div>
        <button
          type="button"
          className="quiet-button"
          onClick={() => saveFile('plan.roomful.json', scenarioText(scenario))}
        >
          Save as a file
        </button>
      </div>
      <OpenShared onOpened={onClose} />
      <div className="dialog-actions">
        <button type="button" className="quiet-button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function OpenShared({ onOpened }: { onOpened: () => void }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const field = useId();
  const take = (shared: string) => {
    try {
      open(readShared(shared.trim()));
      onOpened();
    } catch (cause) {
      setProblem(lineOf(cause));
    }
  };
  const takeFile = (event: ChangeEvent<HTMLInputElement>) => {
    event.target.files?.[0]?.text().then(take, (cause: unknown) => setProblem(lineOf(cause)));
  };
  return (
    <div className="open-shared">
      <h3>Open a shared plan</h3>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '') take(text);
        }}
      >
        <label className="for-screen-readers" htmlFor={field}>
          Link
        </label>
        <input
          id={field}
          className="text-input"
          placeholder="Paste a link"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="quiet-button" disabled={text.trim() === ''}>
          Open the link
        </button>
        <label className="quiet-button file-button">
          Choose a file
          <input type="file" className="for-screen-readers" accept=".json,application/json" onChange={takeFile} />
        </label>
      </form>
      {problem !== null && (
        <p className="notice" data-tone="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
