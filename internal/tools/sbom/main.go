// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sbom prints the bill of materials of a Go binary in CycloneDX 1.6. All of it
// comes from what the linker wrote into the binary, so that it lists what was linked
// and nothing else, needs no network, and is the same for the same binary.
//
//	go run ./internal/tools/sbom dist/docket > docket.cdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/uuid"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(arguments []string, out io.Writer) error {
	if len(arguments) != 1 {
		return errors.New("pass the path of one Go binary")
	}
	content, err := os.ReadFile(arguments[0]) //nolint:gosec // The file that the caller names.
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(arguments[0])
	if err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(describe(info, sha256.Sum256(content)))
}

// document is the part of CycloneDX that is used here.
type document struct {
	BOMFormat    string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Reference  string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Reference string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// describe returns the document of a binary with the given build information and
// SHA-256.
func describe(info *debug.BuildInfo, sum [sha256.Size]byte) document {
	program := module(info.Main, "application")
	program.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "vcs.revision", "vcs.modified":
			program.Properties = append(program.Properties, property{"go:build:" + setting.Key, setting.Value})
		}
	}
	// The standard library is no module in the list, but has vulnerabilities too.
	all := []component{module(debug.Module{Path: "stdlib", Version: info.GoVersion}, "library")}
	for _, linked := range info.Deps {
		if linked.Replace != nil {
			linked = linked.Replace
		}
		all = append(all, module(*linked, "library"))
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Reference, b.Reference) })
	uses := dependency{Reference: program.Reference, DependsOn: []string{}}
	for i := range all {
		uses.DependsOn = append(uses.DependsOn, all[i].Reference)
	}
	return document{
		BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1,
		// The number follows from the binary, so that two runs print the same.
		SerialNumber: "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, sum[:]).String(),
		Metadata:     metadata{Timestamp: setting(info, "vcs.time"), Component: program},
		Components:   all,
		Dependencies: []dependency{uses},
	}
}

func module(m debug.Module, kind string) component {
	purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + m.Version
	c := component{Type: kind, Reference: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
