// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// One table of results, the worst first, in pages, filtered by every column.

import * as api from './api.js';
import { ask, every, literal } from './api.js';
import { age, count, folded, h } from './dom.js';
import { command, expression, fieldSelector, filtersOf, sql, textFields, texts } from './filters.js';
import { copyable, heading, link, reportLink, inScope, subjectCell, table } from './pieces.js';
import { outcome, outcomes, severities, severityBadge, severityName, worse } from './terms.js';
import { address, scopeParams } from './router.js';

const pageSize = 100;

/** @param {import('./pieces.js').Context} context */
export async function results(context) {
  const { scope, signal, place } = context;
  const filters = filtersOf(place.params);
  const { groups, more } = await ask(scope, { filter: expression(filters), groupBy: ['result', 'severity'], limit: 1000 }, signal);
  const total = groups.reduce((sum, g) => sum + g.results, 0);
  const page = await read(context, filters, groups.map((g) => g.by));
  const number = Number(place.params.get('page')) || 1;
  const first = (number - 1) * pageSize;
  const shown = page.items.length ? `${count(first + 1)}\u2013${count(first + page.items.length)} of ` : '';
  return [
    heading('Results', `${shown}${count(total)}${more ? ' or more' : ''} ${inScope(scope)}, the worst first`),
    form(context, filters),
    resultTable(context, page.items),
    pager(context, number, page.next),
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl or SQL'),
      copyable('Copy as kubectl', command(context.info.kubectl, scope, filters)), copyable('Copy as SQL', sql(scope, filters, page.items[0]?.cluster))),
  ];
}

/**
 * Lists have the order of reports. The worst is first as each result and severity that there is is a list of its own, one after
 * the other; where a page ends is in the address of the next.
 * @param {import('./pieces.js').Context} context
 * @param {import('./filters.js').Filters} filters
 * @param {{result: string, severity: string}[]} kinds
 */
async function read({ scope, place, signal }, filters, kinds) {
  const wheres = [];
  if (!scope.outside) wheres.push({ namespace: scope.namespace });
  if (!scope.namespace) wheres.push({ namespace: '', global: true });
  const lists = [...kinds].sort(worse).flatMap(({ result, severity }) => wheres.map((where) => ({ result, severity, where, name: [result, severity, where.global ? 'g' : ''].join('/') })));
  let token = place.params.get('continue') ?? '';
  const from = place.params.get('from');
  let at = from === null ? 0 : lists.findIndex(({ name }) => name === from);
  if (at < 0) { // All of that list has gone.
    const [result, severity] = from.split('/');
    at = lists.findIndex((l) => worse(l, { result, severity }) >= 0);
    token = '';
    if (at < 0) return { items: [], next: null };
  }
  const items = [];
  for (; at < lists.length; at++) {
    if (items.length === pageSize) return { items, next: { from: lists[at].name, continue: '' } };
    const { result, severity, where } = lists[at];
    const answer = await api.results(where, {
      limit: pageSize - items.length, continue: token, fieldSelector: fieldSelector({ result, severity, ...textFields(filters) }),
    }, signal);
    items.push(...answer.items);
    token = answer.metadata.continue ?? '';
    if (token) return { items, next: { from: lists[at].name, continue: token } };
  }
  return { items, next: null };
}

/**
 * @param {import('./pieces.js').Context} context
 * @param {any[]} items
 * @param {{caption?: string, empty?: string, one?: boolean}} [options] one: all are of one source and about one resource
 */
export function resultTable(context, items, { caption = 'Results', empty = 'No results match.', one = false } = {}) {
  const columns = [
    { title: 'Result', of: (r) => outcome(r.result) }, { title: 'Severity', of: (r) => severityBadge(r.severity ?? '') },
    { title: 'Resource', name: true, of: subjectCell, left: one },
    { title: 'Policy and rule', name: true, of: (r) => [h('a', { href: link(context, 'policy', { policy: r.policy, source: r.source }) }, r.policy || 'no policy'), r.rule ? h('small', {}, r.rule) : null] },
    { title: 'Message', wide: true, of: (r) => folded(r.message ?? '', facts(r)) },
    { title: 'Source', of: (r) => r.source ?? '', left: one }, { title: 'Age', number: true, of: (r) => age(r.timestamp) },
  ].filter((column) => !column.left);
  return table(caption, columns, items.map((r) => columns.map((column) => column.of(r))), { empty });
}

/** What else a result says. */
function facts(r) {
  return h('dl', {}, r.category ? [h('dt', {}, 'category'), h('dd', {}, r.category)] : null,
    Object.entries(r.properties ?? {}).map(([name, value]) => [h('dt', {}, name), h('dd', {}, folded(value))]),
    r.timestamp ? [h('dt', {}, 'found'), h('dd', {}, r.timestamp)] : null, h('dt', {}, 'report'), h('dd', {}, reportLink(r)));
}

/** The addresses of the next page and the first. */
function pager({ place, scope }, number, next) {
  const others = Object.fromEntries([...new Set(place.params.keys())].filter((n) => !['page', 'from', 'continue'].includes(n)).map((n) => [n, place.params.getAll(n)]));
  if (number === 1 && !next) return null;
  return h('nav', { class: 'pager', 'aria-label': 'Pages of results' },
    number > 1 ? h('a', { href: address('results', { ...scopeParams(scope), ...others }) }, 'First page') : null,
    h('span', { class: 'muted' }, `Page ${number}`),
    next ? h('a', { class: 'next', href: address('results', { ...scopeParams(scope), ...others, ...next, page: String(number + 1) }) }, 'Next page') : null);
}

/**
 * The filters. They are in the address, hence each change goes to another one.
 * @param {import('./pieces.js').Context} context
 * @param {import('./filters.js').Filters} filters
 */
function form(context, filters) {
  const apply = () => {
    const data = new FormData(element);
    const chosen = data.getAll('result');
    const params = Object.fromEntries(texts.map(({ name }) => [name, String(data.get(name)).trim()]));
    location.hash = link(context, 'results', { ...params, result: chosen.length ? chosen : 'all', severity: data.getAll('severity') });
  };
  const choice = (name, value, label, checked) => h('label', { class: 'choice' }, h('input', { type: 'checkbox', name, value, checked, onchange: apply }), label);
  const element = /** @type {HTMLFormElement} */ (h('form', {
    class: 'filters', role: 'search', 'aria-label': 'Filters', onsubmit: (event) => {
      event.preventDefault();
      apply();
    },
  },
  h('fieldset', {}, h('legend', {}, 'Result'), outcomes.map((name) => choice('result', name, name, filters.results.includes(name)))),
  h('fieldset', {}, h('legend', {}, 'Severity'), severities.map((name) => choice('severity', severityName(name), severityName(name), filters.severities.includes(name)))),
  h('details', { class: 'texts', open: matchMedia('(min-width: 48rem)').matches || Object.values(filters.texts).some(Boolean) }, h('summary', {}, 'More filters'),
    h('div', { class: 'fields' }, texts.map((text) => textFilter(context, filters, text, apply)),
      h('p', { class: 'actions' }, h('button', {}, 'Filter'), ' ', h('a', { href: link(context, 'results') }, 'Clear'))))));
  return element;
}

/** A field of text, which offers the values that there are once somebody goes to it. */
function textFilter(context, filters, { name, label, field }, apply) {
  const id = `values-of-${name}`;
  const list = h('datalist', { id });
  const others = { ...filters, texts: { ...filters.texts, [name]: '' } };
  const offer = async () => {
    try {
      const { groups } = await ask(context.scope, { filter: every([expression(others), `${field} != ${literal('')}`]), groupBy: [field], orderBy: 'results', descending: true, limit: 200 }, context.signal);
      list.replaceChildren(...groups.map((g) => h('option', { value: g.by[field] })));
    } catch { /* One can type without them. */ }
  };
  let asked = false;
  return h('label', {}, label, h('input', {
    name, list: id, value: filters.texts[name], autocomplete: 'off', spellcheck: 'false', 'data-search': name === 'subject', onchange: apply,
    onfocus: () => {
      if (!asked) offer();
      asked = true;
    },
  }), list);
}
