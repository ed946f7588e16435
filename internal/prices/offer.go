package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// offer is what is taken of a region's price list.
type offer struct {
	// location is AWS's name of the region, such as EU (Frankfurt).
	location string
	// hours are USD per hour by instance type, figures those of a gp3 volume by its item of the table.
	hours, figures map[string]string
}

// product is an entry of a list's products.
type product struct {
	SKU        string            `json:"sku"`
	Family     string            `json:"productFamily"`
	Attributes map[string]string `json:"attributes"`
}

// term is one offer of a product.
type term struct {
	Dimensions map[string]struct {
		Unit  string            `json:"unit"`
		Price map[string]string `json:"pricePerUnit"`
	} `json:"priceDimensions"`
}

// wanted are the attributes of an instance type's plain hour: Linux on a shared machine, nothing preinstalled, and not the
// hour of a reservation that stands unused.
var wanted = map[string]string{
	"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used",
	"operation": "RunInstances", "locationType": "AWS Region",
}

// figure is what a volume is paid by.
type figure struct {
	item, unit string
	// per says how many of the table's unit one of the list's unit is, by the list's name for it in lower case.
	per map[string]int64
}

// figures are those of a gp3 volume, by the family of the product.
var figures = map[string]figure{
	"Storage":                {"gp3_storage", "USD/GiB-month", map[string]int64{"gb-mo": 1}},
	"Provisioned Throughput": {"gp3_throughput_above_125MiBps", "USD/(MiB/s)-month", map[string]int64{"mibps-mo": 1, "gibps-mo": 1024}},
	"System Operation":       {"gp3_iops_above_3000", "USD/IOPS-month", map[string]int64{"iops-mo": 1}},
}

// subject is what a product prices: an instance type or an item of figures; false: nothing of the table.
func (p product) subject() (string, bool) {
	switch p.Family {
	case "Compute Instance", "Compute Instance (bare metal)":
		for attribute, value := range wanted {
			if p.Attributes[attribute] != value {
				return "", false
			}
		}
		return p.Attributes["instanceType"], true
	}
	figure, is := figures[p.Family]
	if !is || p.Attributes["volumeApiName"] != "gp3" || p.Attributes["locationType"] != "AWS Region" {
		return "", false
	}
	return figure.item, true
}

// parse reads a list as it comes, since one does not fit in memory: products first, then terms. What follows the
// on-demand terms is not read.
func parse(list io.Reader) (offer, error) {
	decoder := json.NewDecoder(list)
	products := map[string]product{}
	read := offer{hours: map[string]string{}, figures: map[string]string{}}
	done := errors.New("all was read")
	err := fields(decoder, func(name string) error {
		switch name {
		case "products":
			return readProducts(decoder, products)
		case "terms":
			return fields(decoder, func(kind string) error {
				if kind != "OnDemand" {
					return skip(decoder)
				}
				if err := read.terms(decoder, products); err != nil {
					return err
				}
				return done
			})
		}
		return skip(decoder)
	})
	switch {
	case err == nil:
		return offer{}, errors.New("it has no on-demand terms")
	case !errors.Is(err, done):
		return offer{}, fmt.Errorf("decoding: %w", err)
	case len(products) == 0:
		return offer{}, errors.New("it has no product of the table, or its terms stand before its products")
	}
	return read, nil
}

func readProducts(decoder *json.Decoder, products map[string]product) error {
	return fields(decoder, func(string) error {
		var read product
		if err := decoder.Decode(&read); err != nil {
			return err
		}
		if _, is := read.subject(); is {
			products[read.SKU] = read
		}
		return nil
	})
}

// terms takes the prices of the products.
func (o *offer) terms(decoder *json.Decoder, products map[string]product) error {
	return fields(decoder, func(sku string) error {
		of, is := products[sku]
		if !is {
			return skip(decoder)
		}
		var terms map[string]term
		if err := decoder.Decode(&terms); err != nil {
			return err
		}
		subject, _ := of.subject()
		usd, err := of.price(slices.Collect(maps.Values(terms)))
		if err != nil {
			return fmt.Errorf("product %s (%s): %w", sku, subject, err)
		}
		into := o.hours
		if _, is := figures[of.Family]; is {
			into = o.figures
		}
		if into[subject] != "" {
			return fmt.Errorf("product %s: the list has a second price of %s", sku, subject)
		}
		into[subject], o.location = usd, of.Attributes["location"]
		return nil
	})
}

// price is the one price of a product's terms, in the table's unit.
func (p product) price(terms []term) (string, error) {
	if len(terms) != 1 || len(terms[0].Dimensions) != 1 {
		return "", errors.New("it has not exactly one price")
	}
	for _, dimension := range terms[0].Dimensions {
		usd, ok := new(big.Rat).SetString(dimension.Price["USD"])
		per := figures[p.Family].per[strings.ToLower(dimension.Unit)]
		if strings.EqualFold(dimension.Unit, "hrs") && figures[p.Family].per == nil {
			per = 1
		}
		if !ok || per == 0 || usd.Sign() <= 0 {
			return "", fmt.Errorf("%q USD for %q is no price that the table can hold", dimension.Price["USD"], dimension.Unit)
		}
		return strings.TrimRight(strings.TrimRight(usd.Quo(usd, big.NewRat(per, 1)).FloatString(10), "0"), "."), nil
	}
	return "", nil
}

// fields visits the fields of the object that comes next; the visitor reads each value.
func fields(decoder *json.Decoder, visit func(name string) error) error {
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(errors.New("an object is missing"), err)
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if err := visit(name); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

// skip passes over the value that comes next, of any size.
func skip(decoder *json.Decoder) error {
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
