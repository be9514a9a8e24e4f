import { useState } from 'react';
import type { EndpointAccess } from '../../electron/gateway/memberApi.ts';
import { ConfirmDialog } from '../controls/ConfirmDialog.tsx';
import { CopyButton } from '../controls/CopyButton.tsx';
import { lineOf } from '../controls/lineOf.ts';
import { saveFile } from '../controls/saveFile.ts';
import { callMember } from '../member/memberStore.ts';

/** Whether other machines may ask this endpoint, and how they get there. */
export function OtherMachines({ lan }: { lan: EndpointAccess['lan'] }) {
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const perform = (work: Promise<unknown>) => {
    setProblem(null);
    work.catch((cause: unknown) => setProblem(lineOf(cause)));
  };
  const saveCertificate = async () =>
    saveFile('roomful-pool.pem', (await callMember('poolCertificate', {})).certificate);
  const said = problem ?? lan.problem;
  return (
    <section className="card endpoint" aria-label="Other machines">
      <div className="row endpoint-head">
        <h2>Other machines</h2>
        <button
          type="button"
          className="quiet-button"
          aria-pressed={lan.wanted}
          onClick={() => (lan.wanted ? perform(callMember('changeEndpoint', { lan: false })) : setAsking(true))}
        >
          {lan.wanted ? 'Close to other machines' : 'Open to other machines'}
        </button>
      </div>
      <p>
        {lan.wanted
          ? 'Programs on other machines reach it over HTTPS with a key. They must trust the certificate of the pool.'
          : 'Only programs on this machine reach it. Members of the pool have an endpoint of their own.'}
      </p>
      {lan.addresses.map((address) => (
        <div key={address} className="copy-row">
          <code>{address}</code>
          <CopyButton what={`the address ${address}`} text={address} />
        </div>
      ))}
      {lan.wanted && (
        <div className="row">
          <button type="button" className="quiet-button" onClick={() => perform(saveCertificate())}>
            Save the certificate
          </button>
        </div>
      )}
      {said !== null && (
        <p className="notice" data-tone="problem" role="alert">
          {said}
        </p>
      )}
      {asking && (
        <ConfirmDialog
          title="Open the endpoint to other machines?"
          action="Open it"
          onConfirm={() => callMember('changeEndpoint', { lan: true })}
          onClose={() => setAsking(false)}
        >
          <p>Everybody in the network who holds one of its keys can use the models of the pool through this machine.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
