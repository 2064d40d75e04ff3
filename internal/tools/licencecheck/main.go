// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command licencecheck fails when one of the given commands links a module whose
// licence is missing, unknown, or not one that we can pass on in a binary under
// Apache-2.0. With --list it prints the licence of every module.
//
//	go run ./internal/tools/licencecheck ./cmd/...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licencecheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, packages []string, out io.Writer) error {
	list := len(packages) > 0 && packages[0] == "--list"
	if list {
		packages = packages[1:]
	}
	if len(packages) == 0 {
		return errors.New("pass the packages to check, such as ./cmd/... of this module")
	}
	modules, err := linked(ctx, packages)
	if err != nil {
		return err
	}
	bad := 0
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		licence, err := licenceOf(modules[path])
		if known := elsewhere[path]; known != "" && errors.Is(err, errNoFile) {
			licence, err = known, nil
		}
		if err != nil {
			bad++
			licence = "NOT ALLOWED: " + err.Error()
		}
		if list || err != nil {
			fmt.Fprintf(out, "%-60s %s\n", path, licence)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d module(s) need another look: replace them, or teach this check their licence", bad)
	}
	fmt.Fprintf(out, "the licences of %d modules are fine\n", len(modules))
	return nil
}

// linked returns the folders of all modules of others that the packages need.
func linked(ctx context.Context, packages []string) (map[string]string, error) {
	arguments := append([]string{"list", "-deps", "-json=Module"}, packages...)
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	modules := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var listed struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		switch err := decoder.Decode(&listed); {
		case errors.Is(err, io.EOF):
			return modules, nil
		case err != nil:
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		// Packages of the standard library have no module; its licence is BSD.
		if listed.Module != nil && !listed.Module.Main {
			modules[listed.Module.Path] = listed.Module.Dir
		}
	}
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([.-].*)?$`)

	// notLinked is what a licence file of that name is about: pictures, texts; or it is source.
	notLinked = regexp.MustCompile(`(?i)(-logo|\.docs|\.go)$`)

	// elsewhere are modules without a licence file that name their licence in another place.
	elsewhere = map[string]string{
		"github.com/alibabacloud-go/cr-20160607": "Apache-2.0", // README.md
		"github.com/openreports/reports-api":     "Apache-2.0", // The header of each source file.
	}
)

var errNoFile = errors.New("no licence file")

// licenceOf names the licences in a module's root folder. All of them must be allowed.
func licenceOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var names []string
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) || notLinked.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		name := classify(string(text))
		if name == "" {
			return "", fmt.Errorf("the text in %s is not a licence known here", entry.Name())
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", errNoFile
	}
	return strings.Join(names, " and "), nil
}

// quotes that printers prefer.
var quotes = strings.NewReplacer("“", `"`, "”", `"`)

// classify names an allowed licence by phrases that only it has; "" for all others.
func classify(text string) string {
	flat := strings.ToLower(strings.Join(strings.Fields(quotes.Replace(text)), " "))
	for _, licence := range []struct {
		name    string
		phrases []string
	}{
		{"Apache-2.0", []string{"apache license", "version 2.0"}},
		{"MPL-2.0", []string{"mozilla public license", "2.0"}},
		{"MIT", []string{"permission is hereby granted, free of charge", "the software is provided \"as is\""}},
		{"ISC", []string{"permission to use, copy, modify, and", "with or without fee is hereby granted"}},
		{"BSD", []string{"redistribution and use in source and binary forms", "this list of conditions"}},
		{"public domain", []string{"has been dedicated to the public domain"}},
		{"public domain", []string{"released into the public domain"}},
		{"CC0-1.0", []string{"cc0 1.0 universal"}},
	} {
		if !refused.MatchString(flat) && containsAll(flat, licence.phrases) {
			return licence.name
		}
	}
	return ""
}

func containsAll(text string, phrases []string) bool {
	for _, phrase := range phrases {
		if !strings.Contains(text, phrase) {
			return false
		}
	}
	return true
}

// refused are licences that name or resemble an allowed one: the GNU licences, to which
// others only refer, at the beginning; those that ask for more than it, anywhere.
var refused = regexp.MustCompile(`^\W*gnu (lesser |affero |library )?general public license` +
	`|business source license|commons clause|shall be used for good, not evil` +
	`|complete source code for the db software`)
