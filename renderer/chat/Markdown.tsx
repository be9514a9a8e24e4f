import { isValidElement, memo, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import { CopyButton } from '../controls/CopyButton.tsx';

/** Text of a model as markdown. HTML in it is shown as text, and nothing of it is fetched. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown components={components}>{text}</ReactMarkdown>
    </div>
  );
});

const components: Components = {
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  ),
  img: ({ alt, src }) => <span className="quiet">[image: {alt === '' || alt === undefined ? String(src) : alt}]</span>,
};

function CodeBlock({ children }: { children: ReactNode }) {
  const { language, code } = codeOf(children);
  return (
    <div className="code-block">
      <div className="snippet-head">
        <span>{language}</span>
        <CopyButton what="the code" text={code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: wide code is scrolled with the keyboard */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  );
}

function codeOf(node: ReactNode): { language: string; code: string } {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(node)) return { language: 'code', code: '' };
  const { className = '', children } = node.props;
  const language = /language-(\S+)/.exec(className)?.[1] ?? 'code';
  return { language, code: String(children ?? '').replace(/\n$/, '') };
}
