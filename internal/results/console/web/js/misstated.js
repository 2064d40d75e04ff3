// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Reports whose summaries state other numbers than the reports hold.

import { count, h } from './dom.js';
import { listing, quoted } from './filters.js';
import { misstatedOf } from './lists.js';
import { copyable, heading, inScope, pager, reportLink, table } from './pieces.js';
import { outcomes } from './terms.js';

const pageSize = 100;

/** @param {import('./pieces.js').Context} context */
export async function misstated(context) {
  const { scope, place, info } = context;
  const page = await misstatedOf(context, { from: place.params.get('from'), continue: place.params.get('continue') ?? '' }, pageSize);
  const number = Number(place.params.get('page')) || 1;
  const columns = [
    { title: 'Report', name: true, of: (m) => [reportLink(m, true), h('small', {}, m.metadata.namespace ?? 'outside of namespaces')] },
    { title: 'Summary states', of: (m) => wrong(m, m.stated) }, { title: 'Report holds', of: (m) => wrong(m, m.held) },
  ];
  return [
    heading('Which reports state other numbers than they hold?', `${inScope(scope)}. kubectl prints the summaries of reports; this console counts results.`),
    table('Reports with wrong summaries', columns, page.items.map((m) => columns.map((column) => column.of(m))), { empty: 'All summaries are right.' }),
    pager(context, 'misstated', number, page.next),
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl'), copyable('Copy as kubectl', listing(info.kubectl, scope, 'misstatedreports').map(quoted).join(' '))),
  ];
}

/** Numbers of the outcomes of which the summary states a wrong one. */
const wrong = ({ stated, held }, numbers) => outcomes.filter((name) => stated[name] !== held[name]).map((name) => `${count(numbers[name])} ${name}`).join(', ');
