// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/internal/results/resultview"
)

// completionTimeout is how long a shell waits for a cluster.
const completionTimeout = 3 * time.Second

// completeContexts lets shells offer the contexts of the kubeconfig that --kubeconfig names. The command has its flags.
func completeContexts(command *cobra.Command, kubeconfig *string) *cobra.Command {
	offer(command, "context", func(context.Context) []string {
		raw, err := kubeconfigLoader(*kubeconfig, "").RawConfig()
		if err != nil {
			return nil
		}
		return slices.Sorted(maps.Keys(raw.Contexts))
	})
	return command
}

// offer lets shells offer the values of a flag, if the command has it. Without any, they offer nothing.
func offer(command *cobra.Command, flag string, values func(context.Context) []string) {
	// It fails only for flags that don't exist.
	_ = command.RegisterFlagCompletionFunc(flag, func(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
		defer cancel()
		return values(ctx), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeNames lets shells offer what the cluster has: contexts, namespaces, and names in results.
func (f *resultsFlags) completeNames(command *cobra.Command) *cobra.Command {
	offer(command, "namespace", f.namespaces)
	for flag, field := range map[string]string{"policy": "policy", "source": "source", "category": "category", "rule": "rule"} {
		offer(command, flag, func(ctx context.Context) []string {
			client, namespace, err := f.client()
			if err != nil {
				return nil
			}
			values, err := client.Values(ctx, resultview.Extent{Namespace: namespace}, field)
			if err != nil {
				return nil
			}
			return values
		})
	}
	return completeContexts(command, &f.kubeconfig)
}

// namespaces returns those of the cluster, as far as the person may list them.
func (f *resultsFlags) namespaces(ctx context.Context) []string {
	config, err := readConfig(f.kubeconfig, f.context)
	if err != nil {
		return nil
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}
