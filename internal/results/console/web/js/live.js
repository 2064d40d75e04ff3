// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Keeps a page up to date while it is seen.

import { h } from './dom.js';

/**
 * @typedef {Object} View what is on the screen
 * @property {import('./pieces.js').Context} context
 * @property {HTMLElement} main
 * @property {HTMLElement} mark says that changes are heard
 * @property {() => Promise<Reading|null>} read reads the page once more; null when somebody has left it
 * @property {() => void} show shows the page of the address anew
 * @property {() => void} announce says what the page is to those who don't see it
 *
 * @typedef {Object} Reading
 * @property {Node[]} content
 * @property {string} state the resourceVersion that the content shows; "" where that is not known
 * @property {import('./api.js').ApiError|Error} [error] that the content explains
 */

const firstWait = 2000;
const longestWait = 60_000;

/** Grows while nothing is heard: who may not watch reports has pages read again from time to time. */
let wait = firstWait;

/**
 * Shows what changes from a state on.
 * @param {View} view
 * @param {string} state
 */
export function follow(view, state) {
  if (!state || view.context.signal.aborted) return;
  const round = new AbortController();
  const until = AbortSignal.any([view.context.signal, round.signal]);
  const again = () => {
    round.abort();
    view.mark.hidden = true;
    refresh(view, state);
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? view.mark.hidden = true : again()), { signal: until });
  if (document.hidden) return;
  const { namespace, outside } = view.context.scope;
  const source = new EventSource(`/changes?${new URLSearchParams({ since: state, ...(namespace ? { namespace } : {}), ...(outside ? { outside: '1' } : {}) })}`);
  let timer = 0;
  until.addEventListener('abort', () => {
    source.close();
    clearTimeout(timer);
  });
  source.addEventListener('live', () => {
    wait = firstWait;
    view.mark.hidden = false;
    if (view.main.querySelector('.news.old')) again();
  });
  source.addEventListener('changed', again);
  source.addEventListener('error', () => {
    source.close();
    view.mark.hidden = true;
    timer = setTimeout(again, wait);
    wait = Math.min(2 * wait, longestWait);
  });
}

/**
 * Reads the page once more. Where somebody is at work in it, it is only said that there is news.
 * @param {View} view
 * @param {string} state that the page shows
 */
async function refresh(view, state) {
  const fresh = await view.read();
  if (!fresh) return;
  if (fresh.error && passing(fresh.error)) {
    const since = view.main.querySelector('.news.old')?.dataset.since ?? new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    say(view, 'old', h('strong', {}, `\u26a0 Disconnected since ${since}.`), ` These numbers are older. ${fresh.error.message}`).dataset.since = since;
    follow(view, state);
    return;
  }
  const news = view.main.querySelector('.news:not(.old)');
  if (fresh.error || !news && calm(view.main)) {
    const top = scrollY;
    view.main.replaceChildren(...fresh.content);
    scrollTo(0, top);
    if (fresh.error) view.announce();
  } else if (!news) {
    view.main.querySelector('.news')?.remove();
    if (!same(fresh.content, [...view.main.childNodes])) say(view, 'new', 'Results have changed. ', h('button', { type: 'button', onclick: view.show }, 'Show them'));
  }
  follow(view, fresh.state);
}

/**
 * Says something above the page, in place of what was said there.
 * @param {View} view
 * @param {string} kind
 * @param {...any} content
 */
function say({ main }, kind, ...content) {
  main.querySelector('.news')?.remove();
  const said = h('p', { class: `note news ${kind}`, role: 'status' }, content);
  main.prepend(said);
  return said;
}

/** Whether an error may be over soon: a page that somebody may not read any more must go, others may stay. */
const passing = (error) => error.code === 0 || error.code === 429 || error.code >= 500;

/** Whether nobody minds when the page is replaced: nothing in it is selected, was unfolded, or has the focus. */
function calm(main) {
  return !main.querySelector('details[open]:not(.texts)') && !main.matches(':focus-within:not(:focus)') && !String(getSelection());
}

/** Whether nodes say the same, but for ages. */
function same(a, b) {
  const text = (nodes) => nodes.map((node) => {
    const copy = node.cloneNode(true);
    if (copy instanceof Element) copy.querySelectorAll('time').forEach((time) => time.remove());
    return copy.textContent;
  }).join('\n');
  return text(a) === text(b);
}
