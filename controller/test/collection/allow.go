// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// AllowList has the results that may be missing, with the reason for each.
type AllowList struct {
	reasons map[string]string
	used    map[string]bool
}

// ReadAllowList reads a file with a line for each result that may be missing:
//
//	test file, policy, rule, resource: reason
//
// as a run prints them. Lines that are empty or begin with # say nothing.
func ReadAllowList(path string) (*AllowList, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	list := &AllowList{reasons: map[string]string{}, used: map[string]bool{}}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, maxFileSize)
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, reason, ok := strings.Cut(line, ": ")
		reason = strings.TrimSpace(reason)
		if !ok || reason == "" || strings.Count(key, ", ") != 3 {
			return nil, fmt.Errorf("%s: line %d: must be `test file, policy, rule, resource: reason`", path, number)
		}
		if _, ok := list.reasons[key]; ok {
			return nil, fmt.Errorf("%s: line %d: %s is there twice; remove one", path, number, key)
		}
		list.reasons[key] = reason
	}
	return list, scanner.Err()
}

// reason returns why the result may be missing; nothing if it may not.
func (l *AllowList) reason(key string) string {
	if l == nil {
		return ""
	}
	reason := l.reasons[key]
	if reason != "" {
		l.used[key] = true
	}
	return reason
}

// unused returns the entries that nothing needed.
func (l *AllowList) unused() []string {
	if l == nil {
		return nil
	}
	var keys []string
	for key := range l.reasons {
		if !l.used[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
