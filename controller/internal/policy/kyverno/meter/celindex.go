// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"fmt"
	"math"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Index is an index of the context cache as a CEL map: each key with the list of the objects that have
// it. Nothing is decoded but what an expression looks up. It belongs to one evaluation.
type Index struct {
	policy.Index
	name string

	// found are the lists that were looked up.
	found map[any]ref.Val
	// meter counts what is decoded. It is nil outside programs.
	meter *Meter
}

var _ traits.Mapper = (*Index)(nil)

// NewIndex returns an index, which counts what it decodes as made by what has the name.
func NewIndex(index policy.Index, name string) *Index {
	return &Index{Index: index, name: name, found: map[any]ref.Val{}}
}

// indexKey returns a key as the context cache has it; false if no object can have it. CEL's numbers are equal
// whatever their type.
func indexKey(key ref.Val) (any, bool) {
	switch typed := key.(type) {
	case types.String:
		return string(typed), true
	case types.Bool:
		return bool(typed), true
	case types.Double:
		return float64(typed), true
	case types.Int:
		number := float64(typed)
		return number, number < math.MaxInt64 && int64(number) == int64(typed)
	case types.Uint:
		number := float64(typed)
		return number, number < math.MaxUint64 && uint64(number) == uint64(typed)
	default:
		return nil, false
	}
}

// Find implements [traits.Mapper].
func (x *Index) Find(key ref.Val) (ref.Val, bool) {
	if types.IsUnknownOrError(key) {
		return key, false
	}
	native, ok := indexKey(key)
	if !ok || !x.Has(native) {
		return nil, false
	}
	if known, ok := x.found[native]; ok {
		return known, true
	}
	objects, err := x.Index.Find(native)
	if err != nil {
		return types.WrapErr(err), false
	}
	if x.meter != nil {
		charge(x.meter, NativeBytes(objects), x.name)
	}
	found := types.DefaultTypeAdapter.NativeToValue(objects)
	x.found[native] = found
	return found, true
}

// Get returns an error if there is no such key.
func (x *Index) Get(key ref.Val) ref.Val {
	found, ok := x.Find(key)
	if !ok {
		return types.ValOrErr(found, "no such key: %v", key)
	}
	return found
}

// Contains is the operator in.
func (x *Index) Contains(key ref.Val) ref.Val {
	if types.IsUnknownOrError(key) {
		return key
	}
	native, ok := indexKey(key)
	return types.Bool(ok && x.Has(native))
}

// Size returns the number of keys.
func (x *Index) Size() ref.Val { return types.Int(x.Len()) }

// IsZeroValue reports whether there are no keys.
func (x *Index) IsZeroValue() bool { return x.Len() == 0 }

// Iterator goes through the keys, as with all maps.
func (x *Index) Iterator() traits.Iterator {
	keys := make([]ref.Val, 0, x.Len())
	for key := range x.Keys() {
		keys = append(keys, types.DefaultTypeAdapter.NativeToValue(key))
	}
	list, _ := types.DefaultTypeAdapter.NativeToValue(keys).(traits.Lister)
	return list.Iterator()
}

// whole returns a map of Go. It has everything decoded.
func (x *Index) whole() (traits.Mapper, error) {
	all := make(map[ref.Val]ref.Val, x.Len())
	for it := x.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		found := x.Get(key)
		if failed, ok := found.(*types.Err); ok {
			return nil, failed
		}
		all[key] = found
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, all), nil
}

// ConvertToNative is that of CEL's values.
func (x *Index) ConvertToNative(to reflect.Type) (any, error) {
	all, err := x.whole()
	if err != nil {
		return nil, err
	}
	return all.ConvertToNative(to)
}

// ConvertToType is that of CEL's values.
func (x *Index) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case types.MapType:
		return x
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.MapType, to)
}

// Equal is that of CEL's values.
func (x *Index) Equal(other ref.Val) ref.Val {
	all, err := x.whole()
	if err != nil {
		return types.WrapErr(err)
	}
	return all.Equal(other)
}

// Type is that of CEL's values.
func (x *Index) Type() ref.Type { return types.MapType }

// Value is that of CEL's values.
func (x *Index) Value() any { return x }

// String keeps messages short.
func (x *Index) String() string { return fmt.Sprintf("an index of %d keys", x.Len()) }

// meteredIndex makes the index that a call returns count what it decodes.
func meteredIndex(step interpreter.InterpretableCall) call {
	return call{step, func(frame *interpreter.ExecutionFrame) ref.Val {
		out := step.Exec(frame)
		if index, ok := out.(*Index); ok {
			index.meter = meterOf(frame)
		}
		return out
	}}
}
