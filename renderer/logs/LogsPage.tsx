import { useCallback, useEffect, useState } from 'react';
import type { DoctorReport } from '../../electron/gateway/memberApi.ts';
import { lineOf } from '../controls/lineOf.ts';
import { saveFile } from '../controls/saveFile.ts';
import { callMember, useMember } from '../member/memberStore.ts';
import { Page } from '../shell/Page.tsx';
import { logLine } from './logLine.ts';
import './Logs.css';

/** What is wrong, the member's last log lines, and all of it as a file for a bug report. */
export function LogsPage() {
  const connected = useMember(({ connection }) => connection === 'open');
  const [report, setReport] = useState<DoctorReport | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const look = useCallback(() => {
    setProblem(null);
    callMember('doctor', {}).then(setReport, (cause: unknown) => setProblem(lineOf(cause)));
  }, []);
  useEffect(() => {
    if (connected) look();
  }, [connected, look]);
  return (
    <Page
      title="Logs"
      actions={
        <>
          <button type="button" className="quiet-button" onClick={look}>
            Look again
          </button>
          <button
            type="button"
            className="quiet-button"
            disabled={report === null}
            onClick={() => saveFile('roomful-doctor.json', `${JSON.stringify(report, null, 2)}\n`)}
          >
            Export for a bug report
          </button>
        </>
      }
    >
      {problem !== null && (
        <p className="notice" data-tone="problem" role="alert">
          {problem}
        </p>
      )}
      {report !== null && <Report report={report} />}
    </Page>
  );
}

function Report({ report: { problems, versions, network, log } }: { report: DoctorReport }) {
  return (
    <>
      <section className="card" aria-label="Health">
        <h2>{problems.length === 0 ? 'Nothing is wrong' : 'What is wrong'}</h2>
        <ul className="problems">
          {problems.map((line) => (
            <li key={line} className="notice" data-tone="warn">
              {line}
            </li>
          ))}
        </ul>
        <p className="quiet small">
          llama.cpp {versions.build.slice(0, 10)} · protocol {versions.wireVersion} · Node {versions.node} ·{' '}
          {versions.platform} · {network.addresses.join(', ') || 'no network address'}
        </p>
        <p className="quiet small">The export holds these, the pool's state and the log; no prompts, keys or tokens.</p>
      </section>
      <section className="card" aria-label="Log">
        <h2>Last lines of the log</h2>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable with the keyboard */}
        <ol className="log-lines" tabIndex={0}>
          {log.map(logLine).map(({ time, level, text }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no names, and are replaced as a whole
            <li key={index} data-level={level}>
              <time className="quiet">{time}</time>
              <span>{text}</span>
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}
