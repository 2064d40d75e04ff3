// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

func TestScan(t *testing.T) {
	t.Parallel()
	var got struct {
		Event    engine.ResourceRow
		Kind     engine.OpKind
		State    engine.State
		Demands  engine.Demands
		Scored   bool
		Subject  any
		Null     any
		Text     string
		Bytes    []byte
		Resource engine.Resource
	}
	want := got
	want.Event = engine.ResourceRow{Resource: "/r/", Row: engine.Row{
		Key: "k", Revision: 1, Created: 2, ExpiresAt: 3, Value: engine.Value{Size: 4, Codec: 5, Data: []byte("d")},
	}}
	want.Kind, want.State.Incarnation, want.Demands.Reader, want.Scored, want.Subject = engine.Delete, 6, 7, true, int64(8)
	got.Text, got.Bytes, got.Resource = "old", []byte("old"), "old"
	row := []driver.Value{"/r/", "k", int64(1), int64(2), int64(3), int64(4), int64(5), []byte("d"),
		int64(3), int64(6), int64(7), int64(1), int64(8), nil, nil, nil, nil, "more"}
	variables := append([]any{&got.Event.Resource}, fields(&got.Event.Row)...)
	scan(row, append(variables, &got.Kind, &got.State.Incarnation, &got.Demands.Reader, &got.Scored,
		&got.Subject, &got.Null, &got.Text, &got.Bytes, &got.Resource)...)
	testkit.NoDiff(t, cmp.Diff(want, got), "scanned (-want +got)")
}
