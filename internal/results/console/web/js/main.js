// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Shows the page of the address, and another one when that changes.

import { get, takeState, whoAmI } from './api.js';
import { h } from './dom.js';
import { explain } from './errors.js';
import { fleetRights } from './fleet.js';
import { follow } from './live.js';
import { scopePicker } from './picker.js';
import { address, here, scopeOf, scopeParams } from './router.js';
import { clusters } from './clusters.js';
import { fix } from './fix.js';
import { heatmap } from './heatmap.js';
import { overview } from './overview.js';
import { policy } from './policy.js';
import { question } from './question.js';
import { questions } from './questions.js';
import { report } from './report.js';
import { resource } from './resource.js';
import { results } from './results.js';
import { namespaces as namespacesPage, policies } from './summaries.js';

const pages = { overview, fix, results, heatmap, questions, clusters, question, resource, policies, namespaces: namespacesPage, policy, report };
const inMenu = { overview: 'Overview', fix: 'Fix first', results: 'Results', policies: 'Policies', heatmap: 'Heat map', questions: 'Questions', clusters: 'Clusters' };
/** The pages that are about a scope which one chooses. */
const scoped = ['overview', 'fix', 'results', 'heatmap', 'questions', 'question', 'policies', 'namespaces', 'policy'];

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const status = /** @type {HTMLElement} */ (document.getElementById('status'));
const bar = /** @type {HTMLElement} */ (document.getElementById('bar'));
let info = { cluster: '', kubectl: ['kubectl'], kinds: [] };
let namespaces = [];
/** Who is signed in, at a console for many; empty where that is whoever started it. */
let person = '';
let leave = new AbortController();
/** The page that is shown; empty at first. */
let shown = '';
const mark = h('span', { class: 'live', hidden: true, title: 'This page changes when reports do' }, 'Live');

/** The bar shows where one is. It does not wait for rights that few people have. */
function showBar(place) {
  const scope = scopeOf(place);
  const item = (page) => h('a', { href: address(page, scopeParams(scope)), 'aria-current': page === place.page ? 'page' : null }, inMenu[page]);
  const menu = h('nav', { 'aria-label': 'Pages' }, Object.keys(inMenu).filter((page) => page !== 'clusters').map(item));
  fleetRights().then(({ compare }) => compare && menu.append(item('clusters')));
  const cluster = info.context || info.cluster;
  bar.replaceChildren(
    h('a', { class: 'brand', href: address('overview', scopeParams(scope)) }, 'Docket'),
    menu,
    scoped.includes(place.page) ? scopePicker(place, namespaces) : h('span', { class: 'space' }),
    mark, h('span', { class: 'cluster', title: person ? `Signed in as ${person}` : info.cluster }, [person, cluster && `context: ${cluster}`].filter(Boolean).join(' \u00b7 ')),
  );
}

/** Shows the page of the address. */
async function show() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const place = here();
  const context = { place, scope: scopeOf(place), signal, info, show, refuse };
  function refuse(error) {
    if (!signal.aborted) replace([explain(error, context, namespaces, show)], place.page);
  }
  mark.hidden = true;
  showBar(place);
  main.setAttribute('aria-busy', 'true');
  document.title = `${(Object.hasOwn(inMenu, place.page) ? inMenu[place.page] : null) ?? place.params.get('title') ?? place.params.get('name') ?? place.params.get('policy') ?? 'Docket'} \u00b7 Docket`;
  const first = await read(context);
  if (!first) return;
  replace(first.content, place.page);
  follow({ context, main, mark, show, announce, read: () => read({ ...context, patient: true }) }, first.state);
}

/**
 * @param {import('./pieces.js').Context} context
 * @returns {Promise<import('./live.js').Reading|null>} null when somebody has gone elsewhere
 */
async function read(context) {
  const { place, signal } = context;
  const page = Object.hasOwn(pages, place.page) ? pages[place.page] : null;
  if (!page) return { content: [h('h1', {}, 'There is no such page'), h('p', {}, h('a', { href: '#/overview' }, 'Overview'))], state: '' };
  takeState(signal);
  try {
    const content = [await page(context)].flat().filter(Boolean);
    return signal.aborted ? null : { content, state: takeState(signal) };
  } catch (error) {
    return signal.aborted ? null : { content: [explain(error, context, namespaces, show)], state: '', error };
  }
}

/**
 * Shows the content, keeps the focus where it is on the same page, and says to those who don't see it what it is.
 * @param {Node[]} content
 * @param {string} page
 */
function replace(content, page) {
  const before = /** @type {HTMLInputElement} */ (document.activeElement);
  const field = main.contains(before) && before.name ? { name: before.name, value: before.value, box: before.type === 'checkbox' } : null;
  main.replaceChildren(...content);
  main.removeAttribute('aria-busy');
  const same = field && [...main.querySelectorAll('input, button')].find((e) => e.name === field.name && (!field.box || e.value === field.value));
  if (same) {
    same.focus({ preventScroll: true });
    if (!field.box) same.value = field.value; // What was typed in the meantime.
  } else if (shown && shown !== page) {
    main.focus({ preventScroll: true });
  }
  shown = page;
  announce();
}

/** Says what the page is to those who don't see it. */
function announce() {
  status.textContent = main.querySelector('.heading, h1')?.textContent ?? '';
}

/** The slash key goes to where one searches. */
function onKey(event) {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.closest('input:not([type="checkbox"]), select, textarea')) return;
  const search = /** @type {HTMLElement|null} */ (document.querySelector('[data-search]'));
  if (!search) return;
  event.preventDefault();
  search.closest('details')?.setAttribute('open', '');
  search.focus();
}

/** Reads what stays the same. Not everybody may list namespaces; then one types their names. */
async function start() {
  addEventListener('hashchange', () => {
    scrollTo(0, 0);
    show();
  });
  addEventListener('keydown', onKey);
  document.querySelector('.to-content')?.addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
  });
  const asked = get('/console.json');
  const [about, known, who] = await Promise.allSettled([
    asked, get('/api/v1/namespaces', { limit: 1000 }), asked.then((i) => (i.signIn ? whoAmI() : '')),
  ]);
  if (about.status === 'fulfilled') info = about.value;
  if (known.status === 'fulfilled') namespaces = known.value.items.map((n) => n.metadata.name);
  if (who.status === 'fulfilled') person = who.value;
  await show();
}

start();
