import './base.css';
import './controls/controls.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { config } from 'zod';
import { followMember } from './member/memberStore.ts';
import { App } from './shell/App.tsx';

// The content security policy forbids code made from text, which zod would otherwise try.
config({ jitless: true });

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
followMember();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
