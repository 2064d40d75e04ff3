// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"

	"github.com/docket-project/docket/internal/store/engine"
)

// orderedReportColumns is the number of columns of addOrdered that say which report a row is of. They are null but for
// the first row of each report.
const orderedReportColumns = 4

// addOrdered selects all results in some windows, "" for everywhere, that meet a condition, and the first one of each report in
// any case, so that there is a row every now and then: whether it meets the condition, its position, time, index and
// subject, and the text of a field.
func (t *sqlText) addOrdered(cluster int64, windows string, filter *engine.Filter, by engine.Field) {
	var parts engine.Part
	field := "''"
	if by != engine.FieldSeconds {
		parts, field = by.Part(), fieldColumns.Of(by)
	}
	t.addEach(cluster, windows, filter, true, parts, func(meets string) string {
		return "iif(x.position = 0, x.object, NULL), iif(x.position = 0, r.namespace, NULL), iif(x.position = 0, r.kind, NULL), " +
			"iif(x.position = 0, r.name, NULL), " + cmp.Or(meets, "1") + ", x.position, x.seconds, x.idx, coalesce(x.subject, r.scope), " + field
	})
}

// addRowsAt selects rows by their objects and positions, a list in JSON, in the order of the list. They have pageColumns.
func (t *sqlText) addRowsAt(cluster int64, keys string) {
	t.args = append(t.args, keys, cluster)
	t.WriteString("SELECT " + pageColumns + ` FROM json_each(?1) AS w
CROSS JOIN result AS x ON x.cluster = ?2 AND x.object = w.value ->> 0 AND x.position = w.value ->> 1
CROSS JOIN report AS r ON r.cluster = ?2 AND r.object = x.object`)
}
