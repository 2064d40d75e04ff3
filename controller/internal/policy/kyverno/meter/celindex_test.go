// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"testing"

	"github.com/google/cel-go/common/types"
)

func TestKeysOfIndexes(t *testing.T) {
	t.Parallel()
	for _, key := range []any{types.Int(1 << 62), types.Int(-5), types.Uint(7), types.Double(1.5), types.String("x"), types.False} {
		if _, ok := indexKey(types.DefaultTypeAdapter.NativeToValue(key)); !ok {
			t.Errorf("%v is not a key", key)
		}
	}
	for _, key := range []any{types.Int(1<<53 + 1), types.Uint(1<<64 - 1), types.Int(1<<63 - 1), types.NullValue, types.Bytes("x")} {
		if native, ok := indexKey(types.DefaultTypeAdapter.NativeToValue(key)); ok {
			t.Errorf("%v is the key %v", key, native)
		}
	}
}
