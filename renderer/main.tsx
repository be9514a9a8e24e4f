import './withoutEval.ts';
import './base.css';
import './controls/controls.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { followMember } from './member/memberStore.ts';
import { followServing } from './serving/servingStore.ts';
import { App } from './shell/App.tsx';
import { showTheme } from './shell/theme.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
showTheme();
followMember();
followServing();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
