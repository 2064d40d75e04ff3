// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"encoding/json"
	"maps"
	"reflect"
)

// sharedVariables are variables whose values belong to the context cache, beside those of Kyverno's
// JSON document. That one marshals each value and reads it again, copies all of them for each
// checkpoint, and counts their bytes; these are neither copied nor counted (they are in memory once
// for all rules, whatever their size) and nobody changes them. The zero value has none.
type sharedVariables struct {
	// now is never changed: checkpoints have it, too.
	now         map[string]any
	checkpoints []map[string]any
}

func (s *sharedVariables) checkpoint() { s.checkpoints = append(s.checkpoints, s.now) }

func (s *sharedVariables) restore() {
	s.reset()
	if last := len(s.checkpoints) - 1; last >= 0 {
		s.checkpoints = s.checkpoints[:last]
	}
}

func (s *sharedVariables) reset() {
	if last := len(s.checkpoints) - 1; last >= 0 {
		s.now = s.checkpoints[last]
	}
}

func (s *sharedVariables) set(name string, value any) {
	next := make(map[string]any, len(s.now)+1)
	maps.Copy(next, s.now)
	next[name] = value
	s.now = next
}

func (s *sharedVariables) remove(name string) {
	s.now = maps.Clone(s.now)
	delete(s.now, name)
}

// share makes a variable of a value that belongs to others. As in Kyverno's document it takes the
// place of an earlier one with the name, unless both are objects: then they are merged.
func (d *document) share(name string, value any) error {
	all, err := d.Query("@") // Loads nothing, since it names nothing.
	if err != nil {
		return err
	}
	variables, _ := all.(map[string]any)
	if !bothObjects(variables[name], value) {
		d.shared.set(name, value)
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return d.AddContextEntry(name, data)
}

// bothObjects is false for an object and itself, which comes again after a checkpoint.
func bothObjects(a, b any) bool {
	first, ok := a.(map[string]any)
	second, also := b.(map[string]any)
	return ok && also && reflect.ValueOf(first).UnsafePointer() != reflect.ValueOf(second).UnsafePointer()
}

// own moves a shared variable into Kyverno's document, which is about to change it.
func (d *document) own(name string) error {
	value, ok := d.shared.now[name]
	if !ok {
		return nil
	}
	d.shared.remove(name)
	// Only objects have an influence on what takes their place.
	if _, isObject := value.(map[string]any); !isObject {
		value = nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return d.Interface.ReplaceContextEntry(name, data)
}
