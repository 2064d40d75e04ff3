// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command provenance prints where the files of a release come from, as an in-toto statement with a predicate of SLSA
// (https://slsa.dev/spec/v1.1/provenance): their checksums, the commit and what built them. Two runs on the same files
// print the same.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const repository = "https://github.com/docket-project/docket"

type digest map[string]string

type artifact struct {
	Name   string `json:"name,omitempty"`
	URI    string `json:"uri,omitempty"`
	Digest digest `json:"digest"`
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []artifact `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type predicate struct {
	BuildDefinition definition `json:"buildDefinition"`
	RunDetails      details    `json:"runDetails"`
}

type definition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	ResolvedDependencies []artifact        `json:"resolvedDependencies"`
}

type details struct {
	Builder map[string]string `json:"builder"`
}

func main() {
	commit := flag.String("commit", "", "commit that was built")
	version := flag.String("version", "", "version of the release")
	platforms := flag.String("platforms", "", "platforms that were built")
	flag.Parse()
	if err := write(os.Stdout, *commit, *version, *platforms, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

// write writes the statement about files.
func write(out io.Writer, commit, version, platforms string, files []string) error {
	if commit == "" || version == "" || platforms == "" || len(files) == 0 {
		return errors.New("usage: provenance --commit=… --version=… --platforms=… FILE…")
	}
	script := repository + "/blob/" + commit + "/hack/release.sh"
	s := statement{
		Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1",
		Predicate: predicate{
			BuildDefinition: definition{
				BuildType:            script,
				ExternalParameters:   map[string]string{"version": version, "platforms": platforms},
				ResolvedDependencies: []artifact{{URI: "git+" + repository, Digest: digest{"gitCommit": commit}}},
			},
			RunDetails: details{Builder: map[string]string{"id": script}},
		},
	}
	for _, path := range files {
		sum, err := sha256Of(path)
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, artifact{Name: filepath.Base(path), Digest: digest{"sha256": sum}})
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

func sha256Of(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
