// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/picture.h"

#include <algorithm>
#include <cairo.h>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <librsvg/rsvg.h>
#include <memory>
#include <new>

namespace halftone {

namespace {

template <auto Free> struct FreeWith {
    template <class T> void operator()(T* p) const { Free(p); }
};
using SvgPtr = std::unique_ptr<RsvgHandle, FreeWith<g_object_unref>>;
using SurfacePtr = std::unique_ptr<cairo_surface_t, FreeWith<cairo_surface_destroy>>;
using CairoPtr = std::unique_ptr<cairo_t, FreeWith<cairo_destroy>>;

Error failed(std::string_view why)
{
    return {Errc::Internal, fmt::format("the picture can't be drawn: {}", why)};
}

Error takeError(GError* error)
{
    Error out = failed(error != nullptr ? error->message : "unknown reason");
    if (error != nullptr) g_error_free(error);
    return out;
}

/// Called by cairo, a C library: nothing may be thrown through it.
cairo_status_t append(void* out, const unsigned char* data, unsigned length)
{
    try {
        auto& bytes = *static_cast<std::vector<std::byte>*>(out);
        const std::size_t before = bytes.size();
        bytes.resize(before + length);
        std::memcpy(bytes.data() + before, data, length);
        return CAIRO_STATUS_SUCCESS;
    } catch (const std::bad_alloc&) {
        return CAIRO_STATUS_NO_MEMORY;
    }
}

} // namespace

Result<std::vector<std::byte>> renderPng(const Picture& picture, const PictureStyle& style, double scale)
{
    constexpr double kMostPixels = 32767; // cairo's limit for a side
    const std::string svg = renderSvg(picture, style);
    GError* error = nullptr;
    std::vector<guint8> text(svg.begin(), svg.end());
    const SvgPtr handle(rsvg_handle_new_from_data(text.data(), text.size(), &error));
    if (!handle) return takeError(error);
    double w = 0, h = 0;
    if (rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &w, &h) == 0) return failed("it has no size");
    if (!(scale > 0) || w * scale > kMostPixels || h * scale > kMostPixels)
        return Error(
            Errc::InvalidArgument,
            fmt::format("a picture of {} x {} pixels at scale {} is too large or too small", w, h, scale));
    const double width = std::max(1.0, std::round(w * scale)), height = std::max(1.0, std::round(h * scale));
    const SurfacePtr surface(
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)));
    if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS)
        return Error(Errc::OutOfMemory,
                     fmt::format("a picture of {} x {} pixels does not fit into memory", width, height));
    {
        const CairoPtr cairo(cairo_create(surface.get()));
        const RsvgRectangle all{0, 0, width, height};
        if (rsvg_handle_render_document(handle.get(), cairo.get(), &all, &error) == 0)
            return takeError(error);
    }
    std::vector<std::byte> png;
    const cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append, &png);
    if (status != CAIRO_STATUS_SUCCESS) return failed(cairo_status_to_string(status));
    return png;
}

} // namespace halftone
