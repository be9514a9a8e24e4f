import './base.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App.tsx';
import { followMember } from './member/memberStore.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
followMember();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
