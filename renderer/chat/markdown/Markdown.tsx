import { isValidElement, memo, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import { CopyButton } from '../../controls/CopyButton.tsx';
import { bareLinks } from './bareLinks.ts';
import { safeLink } from './safeLink.ts';
import { tables } from './tables.ts';
import './Markdown.css';

/** Text of a model as markdown, with tables. HTML in it is shown as text, and nothing of it is fetched. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown components={components} remarkPlugins={plugins} urlTransform={asWritten}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

const plugins = [tables, bareLinks];

const components: Components = {
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  a: ({ href = '', children }) => <Link href={href}>{children}</Link>,
  img: ({ alt, src }) => <span className="quiet">[image: {alt === '' || alt === undefined ? String(src) : alt}]</span>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard
    <div className="table-scroll" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
};

/** `Link` decides, and shows what it does not follow. */
function asWritten(url: string): string {
  return url;
}

/** Opens outside the window; its address is seen before. One that may not be opened is text, with its address. */
function Link({ href, children }: { href: string; children: ReactNode }) {
  const safe = safeLink(href);
  if (safe === null) {
    return (
      <span>
        {children} <span className="quiet">({href})</span>
      </span>
    );
  }
  return (
    <a href={safe} title={safe} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

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
